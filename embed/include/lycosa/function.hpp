#pragma once

#include <lycosa/schedule.hpp>

#include <concepts>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

/// Functions as jobs: what they are told, and how their arguments get through JSON.
namespace lycosa {

/// What a function is told of its run, if its first parameter is a `run_context&`.
class run_context {
public:
  run_context(std::string job_id, time_point nominal, unsigned attempt, std::stop_token stop)
      : job_id_(std::move(job_id)), nominal_(nominal), attempt_(attempt), stop_(std::move(stop)) {}

  [[nodiscard]] const std::string& job_id() const { return job_id_; }
  /// The time of the schedule, not of the start.
  [[nodiscard]] time_point nominal_time() const { return nominal_; }
  /// 0 = first, n = n-th retry.
  [[nodiscard]] unsigned attempt() const { return attempt_; }
  /// Asked for when the time-out has passed, the run is cancelled or the scheduler stops. A
  /// function that takes long looks at it; nothing else can end it.
  [[nodiscard]] const std::stop_token& cancelled() const { return stop_; }

private:
  std::string job_id_;
  time_point nominal_;
  unsigned attempt_;
  std::stop_token stop_;
};

/// JSON text as an argument or a value.
struct json_text {
  std::string text = "null";
};

namespace detail {

/// A JSON value someone else owns.
class LYCOSA_API json_view {
public:
  explicit json_view(const void* node) : node_(node) {}

  // Each throws std::invalid_argument if the value is of another kind or out of range.
  [[nodiscard]] bool boolean() const;
  [[nodiscard]] std::int64_t whole() const;
  [[nodiscard]] std::uint64_t natural() const;
  [[nodiscard]] double number() const;
  [[nodiscard]] std::string text() const;
  [[nodiscard]] std::size_t size() const; ///< of a list or an object
  [[nodiscard]] json_view at(std::size_t i) const;
  [[nodiscard]] std::string key(std::size_t i) const;
  [[nodiscard]] bool null() const;
  [[nodiscard]] std::string json() const;

private:
  const void* node_;
};

LYCOSA_API void put_text(std::string& out, std::string_view text);
LYCOSA_API void put_number(std::string& out, double value);
LYCOSA_API void put_json(std::string& out, const std::string& text);

/// How a type is written to and read from JSON.
template <class T>
struct codec;

template <class T>
concept encodable = requires(std::string& out, const T& value) {
  codec<T>::put(out, value);
};
template <class T>
concept decodable = requires(const json_view& in) {
  { codec<T>::get(in) } -> std::convertible_to<T>;
};

template <>
struct codec<bool> {
  static void put(std::string& out, bool v) { out += v ? "true" : "false"; }
  static bool get(const json_view& in) { return in.boolean(); }
};
template <std::integral T>
struct codec<T> {
  static void put(std::string& out, T v) { out += std::to_string(v); }
  static T get(const json_view& in) {
    const auto checked = [](auto v) {
      if (!std::in_range<T>(v)) throw std::invalid_argument("the number is out of range");
      return static_cast<T>(v);
    };
    if constexpr (std::is_signed_v<T>)
      return checked(in.whole());
    else
      return checked(in.natural());
  }
};
template <std::floating_point T>
struct codec<T> {
  static void put(std::string& out, T v) { put_number(out, static_cast<double>(v)); }
  static T get(const json_view& in) { return static_cast<T>(in.number()); }
};
template <>
struct codec<std::string> {
  static void put(std::string& out, const std::string& v) { put_text(out, v); }
  static std::string get(const json_view& in) { return in.text(); }
};
template <>
struct codec<std::string_view> {
  static void put(std::string& out, std::string_view v) { put_text(out, v); }
};
template <>
struct codec<const char*> {
  static void put(std::string& out, const char* v) { put_text(out, v); }
};
template <>
struct codec<json_text> {
  static void put(std::string& out, const json_text& v) { put_json(out, v.text); }
  static json_text get(const json_view& in) { return {in.json()}; }
};
template <class T>
struct codec<std::optional<T>> {
  static void put(std::string& out, const std::optional<T>& v) {
    if (v)
      codec<T>::put(out, *v);
    else
      out += "null";
  }
  static std::optional<T> get(const json_view& in) {
    if (in.null()) return std::nullopt;
    return codec<T>::get(in);
  }
};
template <class T>
struct codec<std::vector<T>> {
  static void put(std::string& out, const std::vector<T>& v) {
    out += '[';
    for (std::size_t i = 0; i < v.size(); ++i) {
      if (i > 0) out += ',';
      codec<T>::put(out, v[i]);
    }
    out += ']';
  }
  static std::vector<T> get(const json_view& in) {
    std::vector<T> all;
    for (std::size_t i = 0; i < in.size(); ++i)
      all.push_back(codec<T>::get(in.at(i)));
    return all;
  }
};
template <class T>
struct codec<std::map<std::string, T>> {
  static void put(std::string& out, const std::map<std::string, T>& v) {
    out += '{';
    for (const auto& [key, value] : v) {
      if (out.back() != '{') out += ',';
      put_text(out, key);
      out += ':';
      codec<T>::put(out, value);
    }
    out += '}';
  }
  static std::map<std::string, T> get(const json_view& in) {
    std::map<std::string, T> all;
    for (std::size_t i = 0; i < in.size(); ++i)
      all.emplace(in.key(i), codec<T>::get(in.at(i)));
    return all;
  }
};

/// What every function becomes: context and arguments in, value (JSON, or nothing) out.
using function = std::function<std::string(run_context&, const json_view&)>;

template <class Call>
std::string value_of(Call call) {
  using value = std::decay_t<std::invoke_result_t<Call>>;
  if constexpr (!std::is_void_v<value> && encodable<value>) {
    std::string out;
    codec<value>::put(out, call());
    return out;
  } else {
    call();
    return {};
  }
}

/// How an argument is kept until it is needed: by value, texts as std::string.
template <class A>
using kept = std::conditional_t<std::is_convertible_v<std::decay_t<A>, const char*>, std::string,
                                std::decay_t<A>>;

template <class F, class... A>
concept takes = std::invocable<F&, run_context&, const A&...> || std::invocable<F&, const A&...>;

/// A function with its arguments.
template <class F, class... A>
function bind(F f, A... args) {
  struct whole {
    F f;
    std::tuple<A...> args;
  };
  auto all = std::make_shared<whole>(whole{std::move(f), {std::move(args)...}});
  return [all](run_context& context, const json_view&) {
    return std::apply(
        [&](const A&... a) {
          if constexpr (std::invocable<F&, run_context&, const A&...>)
            return value_of([&] { return std::invoke(all->f, context, a...); });
          else
            return value_of([&] { return std::invoke(all->f, a...); });
        },
        std::as_const(all->args));
  };
}

template <class... P>
struct parameters {
  template <class F>
  static function read(F f) {
    return [f = std::make_shared<F>(std::move(f))](run_context&, const json_view& in) {
      return from(in, [&](auto&&... a) { return (*f)(std::move(a)...); });
    };
  }
  template <class Call>
  static std::string from(const json_view& in, Call call) {
    static_assert((decodable<std::decay_t<P>> && ...),
                  "a parameter of a registered function is of a type that JSON cannot hold");
    const auto given = in.null() ? 0 : in.size();
    if (given != sizeof...(P))
      throw std::invalid_argument("args: the function takes " + std::to_string(sizeof...(P))
                                  + ", not " + std::to_string(given));
    return from(in, call, std::index_sequence_for<P...>{});
  }

private:
  template <class Call, std::size_t... I>
  static std::string from(const json_view& in, Call& call, std::index_sequence<I...>) {
    std::tuple<std::decay_t<P>...> all{one<std::decay_t<P>>(in, I)...};
    return value_of([&] { return std::apply(call, std::move(all)); });
  }
  template <class T>
  static T one(const json_view& in, std::size_t i) {
    try {
      return codec<T>::get(in.at(i));
    } catch (const std::invalid_argument& e) {
      throw std::invalid_argument("args[" + std::to_string(i) + "]: " + e.what());
    }
  }
};
template <class... P>
struct parameters<run_context&, P...> {
  template <class F>
  static function read(F f) {
    return [f = std::make_shared<F>(std::move(f))](run_context& context, const json_view& in) {
      return parameters<P...>::from(in,
                                    [&](auto&&... a) { return (*f)(context, std::move(a)...); });
    };
  }
};

template <class S>
struct signature;
template <class R, class... P>
struct signature<R (*)(P...)> : parameters<P...> {};
template <class R, class... P>
struct signature<R (*)(P...) noexcept> : parameters<P...> {};
template <class R, class C, class... P>
struct signature<R (C::*)(P...)> : parameters<P...> {};
template <class R, class C, class... P>
struct signature<R (C::*)(P...) const> : parameters<P...> {};
template <class R, class C, class... P>
struct signature<R (C::*)(P...) noexcept> : parameters<P...> {};
template <class R, class C, class... P>
struct signature<R (C::*)(P...) const noexcept> : parameters<P...> {};

/// A function whose arguments come from a job's JSON; its parameters tell how to read them.
template <class F>
function from_json(F f) {
  if constexpr (std::is_pointer_v<F>)
    return signature<F>::read(std::move(f));
  else
    return signature<decltype(&F::operator())>::read(std::move(f));
}

} // namespace detail

/// What a job does, when it is no function given with it.
class work {
public:
  /// An ACTION object, e.g. `{"type":"http","url":"https://example.org/hook"}`.
  explicit work(std::string json) : json_(std::move(json)) {}
  [[nodiscard]] const std::string& json() const { return json_; }

private:
  std::string json_;
};

namespace detail {
[[nodiscard]] LYCOSA_API work call_json(std::string_view name, std::string args);
}

/// Calls the function registered under a name, with arguments that are kept as JSON.
template <detail::encodable... A>
[[nodiscard]] work call(std::string_view name, const A&... args) {
  std::string list = "[";
  ((list.size() > 1 ? list += ',' : list, detail::codec<A>::put(list, args)), ...);
  return detail::call_json(name, list + "]");
}
template <class... A>
[[nodiscard]] work call(std::string_view name,
                        const A&... args) requires(!(detail::encodable<A> && ...)) {
  return call(name, detail::kept<A>(args)...);
}
/// Runs a program; success is exit code 0.
[[nodiscard]] LYCOSA_API work command(const std::vector<std::string>& argv);
/// Runs a text by `/bin/sh -c`.
[[nodiscard]] LYCOSA_API work shell(std::string_view text);
/// Sends an HTTP request; success is any 2xx.
[[nodiscard]] LYCOSA_API work http(std::string_view method, std::string_view url,
                                   std::string_view body = {});

namespace detail {
[[nodiscard]] LYCOSA_API work ask_json(std::string_view name, std::string payload);
}

/// Sends a message to an actor of another CAF system and waits for its answer, which becomes the
/// value. `name` is `NAME@HOST:PORT`. The first such run starts threads and connects; without one
/// the library opens no socket for it. docs/actors.md has the message and the rules.
template <detail::encodable A>
[[nodiscard]] work ask(std::string_view name, const A& payload) {
  std::string text;
  detail::codec<A>::put(text, payload);
  return detail::ask_json(name, std::move(text));
}
[[nodiscard]] inline work ask(std::string_view name) {
  return detail::ask_json(name, "null");
}

} // namespace lycosa

#include "gateway/cluster_door.hpp"
#include "gateway/handlers.hpp"

#include <nlohmann/json.hpp>

#include <memory>

namespace lycosa::gateway {

namespace {

struct wish {
  std::string node;
  bool off = false;
};

/// `{"node": NAME, "off": BOOL}`.
result<wish> read_wish(const request& r, bool may_be_empty) {
  const auto body = nlohmann::json::parse(r.body->text, nullptr, false);
  if (!body.is_object()) return fail(errc::invalid_argument, "body", "must be a JSON object");
  wish w;
  const auto node = body.find("node");
  if (node == body.end() || !node->is_string())
    return fail(errc::invalid_argument, "node", "must be a text: the name or number of a node");
  w.node = node->get<std::string>();
  if (w.node.empty() && !may_be_empty)
    return fail(errc::invalid_argument, "node", "must not be empty");
  if (const auto off = body.find("off"); off != body.end()) {
    if (!off->is_boolean()) return fail(errc::invalid_argument, "off", "must be true or false");
    w.off = off->get<bool>();
  }
  return w;
}

cluster_door::done answer_wish(const exchange_ptr& x) {
  return [x](const result<void>& ok) {
    answer_now(x, ok ? json(R"({"accepted":true})", 202) : problem(ok.error()));
  };
}

void refuse(const exchange_ptr& x) {
  answer_now(x, problem(error{errc::conflict, "cluster", "this is a single node"}));
}

} // namespace

bool answer_cluster(cluster_door* door, const request& r, const exchange_ptr& x) {
  const bool state = r.path == "/v1/cluster", move = r.path == "/v1/cluster/move",
             drain = r.path == "/v1/cluster/drain";
  if (!state && !move && !drain) return false;
  const std::string_view allowed = state ? "GET" : "POST";
  if (r.method != allowed) {
    auto no = problem(405, "allowed here: " + std::string(allowed));
    no.headers.emplace_back("Allow", state ? "GET, HEAD" : "POST");
    answer_now(x, std::move(no));
    return true;
  }
  if (state) {
    x->answer([text = door == nullptr ? std::string(R"({"mode":"single"})") : door->state()] {
      return json(text);
    });
    return true;
  }
  auto w = read_wish(r, move);
  if (!w)
    answer_now(x, problem(w.error()));
  else if (door == nullptr)
    refuse(x);
  else if (move)
    door->move(std::move(w->node), answer_wish(x));
  else
    door->drain(std::move(w->node), !w->off, answer_wish(x));
  return true;
}

void show_cluster(service&, const request& r, const exchange_ptr& x) {
  answer_cluster(nullptr, r, x);
}
void move_leadership(service&, const request& r, const exchange_ptr& x) {
  answer_cluster(nullptr, r, x);
}
void drain_node(service&, const request& r, const exchange_ptr& x) {
  answer_cluster(nullptr, r, x);
}

} // namespace lycosa::gateway

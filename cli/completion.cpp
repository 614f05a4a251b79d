#include "cli/commands.hpp"

#include <algorithm>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

namespace lycosa::cli {

namespace {

/// One command of the tree, flattened: `task submit`, what may follow it.
struct node {
  std::string path; ///< words after `lycosa`, joined by blanks; empty = the program itself
  struct word {
    std::string text;
    std::string about;
  };
  std::vector<word> commands;
  std::vector<word> options;
};

std::vector<CLI::App*> commands_of(CLI::App* app) {
  return app->get_subcommands([](CLI::App* sub) { return !sub->get_name().empty(); });
}

void flatten(CLI::App* app, const std::string& path, std::vector<node>& out) {
  node n;
  n.path = path;
  for (auto* sub : commands_of(app))
    n.commands.push_back({sub->get_name(), sub->get_description()});
  for (auto* option : app->get_options())
    for (const auto& name : option->get_lnames())
      n.options.push_back({"--" + name, option->get_description()});
  out.push_back(std::move(n));
  for (auto* sub : commands_of(app))
    flatten(sub, path.empty() ? sub->get_name() : path + " " + sub->get_name(), out);
}

std::vector<node> tree(context& ctx) {
  auto app = build_app(ctx);
  std::vector<node> out;
  flatten(app.get(), "", out);
  return out;
}

std::string words(const std::vector<node::word>& list) {
  std::string out;
  for (const auto& w : list)
    out += (out.empty() ? "" : " ") + w.text;
  return out;
}

std::string single_quoted(std::string text) {
  for (std::size_t at = 0; (at = text.find('\'', at)) != std::string::npos; at += 4)
    text.replace(at, 1, "'\\''");
  return "'" + text + "'";
}

void bash(std::ostream& out, context& ctx) {
  out << R"(# bash completion of lycosa:  source <(lycosa completion bash)
_lycosa() {
  local cur="${COMP_WORDS[COMP_CWORD]}" path="" word i next commands options
  for ((i = 1; i <= COMP_CWORD; i++)); do
    commands=""
    options=""
    case "$path" in
)";
  for (const auto& n : tree(ctx))
    out << "      " << single_quoted(n.path) << ") commands=" << single_quoted(words(n.commands))
        << " options=" << single_quoted(words(n.options)) << " ;;\n";
  out << R"(    esac
    ((i == COMP_CWORD)) && break
    word="${COMP_WORDS[i]}"
    case " $commands " in
      *" $word "*) [[ -n "$word" ]] && path="${path:+$path }$word" ;;
    esac
  done
  if [[ "$cur" == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$cur"))
  elif [[ -n "$commands" ]]; then
    COMPREPLY=($(compgen -W "$commands" -- "$cur"))
  else
    COMPREPLY=($(compgen -f -- "$cur"))
  fi
}
complete -o filenames -F _lycosa lycosa
)";
}

void zsh(std::ostream& out, context& ctx) {
  auto described = [](const std::vector<node::word>& list) {
    std::string text;
    for (auto w : list) {
      std::ranges::replace(w.about, '\n', ' ');
      text += (text.empty() ? "" : " ") + single_quoted(w.text + ":" + w.about);
    }
    return text;
  };
  // Not called `path`: zsh ties that name to $PATH.
  out << R"(#compdef lycosa
# zsh completion of lycosa:  lycosa completion zsh > "${fpath[1]}/_lycosa"
_lycosa() {
  local at="" word i
  local -a commands options
  for ((i = 2; i <= CURRENT; i++)); do
    commands=()
    options=()
    case "$at" in
)";
  for (const auto& n : tree(ctx))
    out << "      (" << single_quoted(n.path) << ") commands=(" << described(n.commands)
        << ") options=(" << described(n.options) << ") ;;\n";
  out << R"(    esac
    ((i == CURRENT)) && break
    word="${words[i]}"
    (( ${commands[(I)$word:*]} )) && at="${at:+$at }$word"
  done
  if [[ "${words[CURRENT]}" == -* ]]; then
    _describe -o 'option' options
  elif (( ${#commands} )); then
    _describe 'command' commands
  else
    _files
  fi
}
if [[ "$funcstack[1]" == _lycosa ]]; then _lycosa "$@"; else compdef _lycosa lycosa; fi
)";
}

void fish(std::ostream& out, context& ctx) {
  out << "# fish completion of lycosa:  lycosa completion fish | source\n";
  auto about = [](std::string text) {
    std::ranges::replace(text, '\n', ' ');
    for (std::size_t at = 0; (at = text.find_first_of("'\\", at)) != std::string::npos; at += 2)
      text.insert(at, 1, '\\');
    return "'" + text + "'";
  };
  auto nodes = tree(ctx);
  for (const auto& n : nodes) {
    std::string condition;
    if (n.path.empty()) {
      condition = "__fish_use_subcommand";
    } else {
      auto blank = n.path.find(' ');
      condition = "__fish_seen_subcommand_from " + n.path.substr(0, blank);
      if (blank != std::string::npos)
        condition += "; and __fish_seen_subcommand_from " + n.path.substr(blank + 1);
      else if (!n.commands.empty())
        condition += "; and not __fish_seen_subcommand_from " + words(n.commands);
    }
    for (const auto& w : n.commands)
      out << "complete -c lycosa -f -n '" << condition << "' -a " << w.text << " -d "
          << about(w.about) << '\n';
    for (const auto& w : n.options)
      out << "complete -c lycosa -n '" << condition << "' -l " << w.text.substr(2) << " -d "
          << about(w.about) << '\n';
  }
}

} // namespace

void add_completion(CLI::App& app, context& ctx) {
  auto* command = app.add_subcommand("completion", "Print a completion script for a shell");
  auto shell = std::make_shared<std::string>();
  command->add_option("SHELL", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  command->footer("Example:\n  source <(lycosa completion bash)");
  on_run(command, ctx, [shell, &ctx] {
    if (*shell == "bash")
      bash(ctx.out, ctx);
    else if (*shell == "zsh")
      zsh(ctx.out, ctx);
    else
      fish(ctx.out, ctx);
    ctx.out.flush();
    return int{done};
  });
}

} // namespace lycosa::cli

#include "cli/app.hpp"
#include "cli/commands.hpp"
#include "tests/cli/support.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>

using namespace lycosa::cli;
using lycosa::cli::testing::run_cli;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

namespace {

/// Every command line of the tree, as words: {"task", "submit"}.
std::vector<std::vector<std::string>> all_commands() {
  std::istringstream in;
  std::ostringstream out;
  context ctx{in, out, out};
  auto app = build_app(ctx);
  std::vector<std::vector<std::string>> commands;
  for (auto* group : app->get_subcommands([](CLI::App*) { return true; })) {
    auto subs = group->get_subcommands([](CLI::App*) { return true; });
    if (subs.empty()) commands.push_back({group->get_name()});
    for (auto* sub : subs)
      commands.push_back({group->get_name(), sub->get_name()});
  }
  return commands;
}

std::string man_page() {
  std::ifstream in(LYCOSA_SOURCE_DIR "/docs/lycosa.1");
  std::string text{std::istreambuf_iterator<char>{in}, {}};
  // roff's spelling of a dash
  for (std::size_t at = 0; (at = text.find("\\-", at)) != std::string::npos;)
    text.erase(at, 1);
  return text;
}

} // namespace

TEST(app, version_and_help_are_exit_0) {
  auto version = run_cli({"--version"});
  EXPECT_EQ(version.code, 0);
  EXPECT_THAT(version.out, HasSubstr("lycosa 0."));
  auto help = run_cli({"--help"});
  EXPECT_EQ(help.code, 0);
  EXPECT_THAT(help.out, HasSubstr("Examples:"));
}

TEST(app, wrong_usage_is_exit_2_with_one_line_that_tells_where_help_is) {
  for (std::vector<std::string> args : {std::vector<std::string>{},
                                        {"nonsense"},
                                        {"task"},
                                        {"task", "nonsense"},
                                        {"serve", "--nonsense"},
                                        {"task", "ls", "p", "--status", "odd"},
                                        {"project", "show"}}) {
    auto r = run_cli(args);
    EXPECT_EQ(r.code, 2);
    EXPECT_EQ(r.out, "");
    EXPECT_THAT(r.err, MatchesRegex("lycosa: usage: [^\n]+ \\(see lycosa[a-z ]* --help\\)\n"));
  }
}

TEST(app, every_command_has_help_with_its_options) {
  for (auto words : all_commands()) {
    words.push_back("--help");
    auto r = run_cli(words);
    EXPECT_EQ(r.code, 0);
    EXPECT_THAT(r.out, HasSubstr("Usage: lycosa " + words[0]));
  }
}

TEST(man_page, names_every_command_and_long_option) {
  auto page = man_page();
  ASSERT_FALSE(page.empty());
  std::istringstream in;
  std::ostringstream out;
  context ctx{in, out, out};
  auto app = build_app(ctx);
  for (const auto& words : all_commands()) {
    auto name = "lycosa " + words[0] + (words.size() > 1 ? " " + words[1] : "");
    EXPECT_THAT(page, HasSubstr(name));
    auto* command = app->get_subcommand(words[0]);
    if (words.size() > 1) command = command->get_subcommand(words[1]);
    for (auto* option : command->get_options())
      for (const auto& o : option->get_lnames())
        EXPECT_THAT(page, HasSubstr("--" + o)) << name;
  }
}

TEST(completion, names_every_command_in_every_shell) {
  for (std::string shell : {"bash", "zsh", "fish"}) {
    auto r = run_cli({"completion", shell});
    EXPECT_EQ(r.code, 0);
    for (const auto& words : all_commands())
      for (const auto& word : words)
        EXPECT_THAT(r.out, HasSubstr(word)) << shell;
  }
  EXPECT_EQ(run_cli({"completion", "tcsh"}).code, 2);
}

TEST(completion, bash_completes_commands_and_options) {
  auto script = run_cli({"completion", "bash"}).out;
  auto file = std::string{std::getenv("TMPDIR") ? std::getenv("TMPDIR") : "/tmp"} + "/lycosa-"
              + std::to_string(::getpid()) + ".bash";
  std::ofstream{file} << script;
  auto complete = [&](const std::string& words, int at) {
    auto command = "bash --norc -c '. " + file + "; COMP_WORDS=(" + words + "); COMP_CWORD="
                   + std::to_string(at) + "; _lycosa; echo \"${COMPREPLY[@]}\"' 2>&1";
    std::string out;
    auto* pipe = ::popen(command.c_str(), "r");
    char buffer[4096];
    while (auto* line = std::fgets(buffer, sizeof buffer, pipe))
      out += line;
    ::pclose(pipe);
    return out;
  };
  EXPECT_EQ(complete("lycosa pro", 1), "project\n");
  EXPECT_EQ(complete("lycosa task re", 2), "requeue\n");
  EXPECT_EQ(complete("lycosa task submit --ba", 3), "--batch\n");
  std::remove(file.c_str());
}

TEST(config_print, is_a_file_that_prints_the_same_again) {
  auto first = run_cli({"config", "print", "--set", "storage.shards=5"});
  EXPECT_EQ(first.code, 0);
  EXPECT_THAT(first.out, HasSubstr("\nshards = 5\n"));
  auto bad = run_cli({"config", "print", "--set", "storage.shard=5"});
  EXPECT_EQ(bad.code, 2);
  EXPECT_EQ(bad.err, "lycosa: --set: storage.shard: unknown key; did you mean storage.shards?\n");
}

TEST(serve, refuses_bad_settings_before_it_touches_anything) {
  auto r = run_cli({"serve", "--listen", "nowhere", "--data", "/nonexistent/x"});
  EXPECT_EQ(r.code, 2);
  EXPECT_THAT(r.err, HasSubstr("http.listen"));
  EXPECT_EQ(r.out, "");
}

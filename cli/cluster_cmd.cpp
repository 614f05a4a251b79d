#include "cli/client.hpp"
#include "cli/commands.hpp"
#include "cli/table.hpp"
#include "storage/replica_digest.hpp"
#include "storage/replica_set.hpp"

#include <memory>
#include <ostream>
#include <string>

namespace lycosa::cli {

namespace {

struct cluster_options : server_options {
  std::string node;
  std::string data;
  bool off = false;
};

std::string text(const json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || found->is_null()) return "-";
  if (found->is_string())
    return found->get<std::string>().empty() ? "-" : printable(found->get<std::string>());
  if (found->is_boolean()) return found->get<bool>() ? "yes" : "no";
  return found->dump();
}

std::string names(const json& object, const char* name) {
  std::string out;
  if (const auto found = object.find(name); found != object.end() && found->is_array())
    for (const auto& n : *found)
      if (n.is_string()) out += (out.empty() ? "" : " ") + printable(n.get<std::string>());
  return out.empty() ? "-" : out;
}

/// The cluster as the node at `o.url` sees it; printed as it came with --json.
outcome<json> ask(const cluster_options& o, context& ctx) {
  client server{o.url};
  auto state = server.call_json("GET", "/v1/cluster");
  if (state && o.json) ctx.out << state->dump() << std::endl;
  return state;
}

int status(const cluster_options& o, context& ctx) {
  auto state = ask(o, ctx);
  if (!state) return ctx.complain(state.error());
  if (o.json) return done;
  if (text(*state, "mode") == "single") {
    ctx.out << "a single node" << std::endl;
    return done;
  }
  ctx.out << "cluster " << text(*state, "cluster") << ", seen by " << text(*state, "self")
          << "; the scheduler runs on " << text(*state, "active") << "\n\n";
  table t{{{"SHARD"}, {"EPOCH", true}, {"LEADER"}, {"IN SYNC"}, {"COPIES"}, {"AT LEAST", true}}};
  for (const auto& s : state->value("shards", json::array()))
    t.add({text(s, "name"), text(s, "epoch"), text(s, "leader"), names(s, "in_sync"),
           names(s, "replicas"), text(s, "min_in_sync")});
  t.print(ctx.out);
  return done;
}

int members(const cluster_options& o, context& ctx) {
  auto state = ask(o, ctx);
  if (!state) return ctx.complain(state.error());
  if (o.json) return done;
  table t{{{"NODE"}, {"NUMBER"}, {"HTTP"}, {"ADDRESS"}, {"DOMAIN"}, {"STATE"}}};
  for (const auto& m : state->value("members", json::array())) {
    std::string how = m.value("gone", false)     ? "gone"
                      : m.value("linked", false) ? "up"
                                                 : "no link: " + text(m, "trouble");
    if (m.value("draining", false)) how += ", draining";
    t.add({text(m, "name"), text(m, "node"), text(m, "http"), text(m, "address"),
           text(m, "failure_domain"), how});
  }
  t.print(ctx.out);
  return done;
}

int post(const cluster_options& o, const char* path, const json& body, const std::string& said,
         context& ctx) {
  client server{o.url};
  auto answer = server.call("POST", path, body.dump());
  if (!answer) return ctx.complain(answer.error());
  ctx.out << said << std::endl;
  return done;
}

int digest(const cluster_options& o, context& ctx) {
  auto all = storage::digest_data_dir(o.data);
  if (!all) return ctx.complain(all.error());
  if (o.json) {
    auto out = json::object();
    for (const auto& d : *all)
      out[d.name] = {{"epoch", d.at.epoch}, {"lsn", d.at.lsn}, {"digest", d.digest}};
    ctx.out << out.dump() << std::endl;
    return done;
  }
  table t{{{"SHARD"}, {"EPOCH", true}, {"POSITION", true}, {"DIGEST"}}};
  for (const auto& d : *all)
    t.add({d.name, std::to_string(d.at.epoch), std::to_string(d.at.lsn), d.digest});
  t.print(ctx.out);
  return done;
}

int leave(const cluster_options& o, context& ctx) {
  if (auto ok = storage::leave_cluster(o.data); !ok) return ctx.complain(ok.error());
  ctx.out << o.data << " is a single node's directory now" << std::endl;
  return done;
}

} // namespace

void add_cluster(CLI::App& app, context& ctx) {
  auto* group = app.add_subcommand("cluster", "Look at a cluster, move its work between nodes");
  group->require_subcommand(1);
  auto options = std::make_shared<cluster_options>();
  const auto add = [&](const char* name, const char* what, auto run) {
    auto* command = group->add_subcommand(name, what);
    add_server_option(command, *options);
    on_run(command, ctx, [options, &ctx, run] { return run(*options, ctx); });
    return command;
  };
  add_json_option(add("status", "Who leads what, and which copies are in sync", status), *options);
  add_json_option(add("members", "The nodes, and whether they reach each other", members),
                  *options);
  add("move", "Have a node run the scheduler, once it holds everything",
      [](const cluster_options& o, context& c) {
        return post(o, "/v1/cluster/move", {{"node", o.node}},
                    o.node + " leads as soon as its copies are in sync", c);
      })
      ->add_option("node", options->node, "Name or number of the node")
      ->required();
  auto* drain = add("drain", "Take everything off a node, e.g. before it is switched off",
                    [](const cluster_options& o, context& c) {
                      return post(o, "/v1/cluster/drain", {{"node", o.node}, {"off", o.off}},
                                  o.off ? o.node + " may hold data again"
                                        : o.node + " gives up what it leads and holds", c);
                    });
  drain->add_option("node", options->node, "Name or number of the node")->required();
  drain->add_flag("--off", options->off, "Take the wish back");
  add("rebalance", "Forget which node was wished to lead: the work stays where it is best",
      [](const cluster_options& o, context& c) {
        return post(o, "/v1/cluster/move", {{"node", ""}}, "no node is wished to lead any more", c);
      });
  const auto add_local = [&](const char* name, const char* what, auto run) {
    auto* command = group->add_subcommand(name, what);
    command->add_option("--data", options->data, "Data directory")->required()->type_name("DIR");
    on_run(command, ctx, [options, &ctx, run] { return run(*options, ctx); });
    return command;
  };
  add_json_option(
      add_local("digest", "What a directory's copies hold, to be compared with another's", digest),
      *options);
  add_local("leave", "Make a node's directory a single node's again; the node must not run", leave);
}

} // namespace lycosa::cli

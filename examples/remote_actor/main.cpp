// A CAF program that jobs can ask: it registers an actor by a name and opens a port. It knows
// nothing of Lycosa; the message is made of CAF's own types.
#include <caf/all.hpp>
#include <caf/io/all.hpp>

#include <cstdint>
#include <iostream>
#include <string>

// What a job says: its id, its payload (JSON), the time of its schedule in microseconds since 1970,
// and which attempt this is. The text that is returned becomes the value of the run, an error its
// error.
caf::result<std::string> greet(const std::string& job, const std::string& payload,
                               std::int64_t /*time*/, std::uint32_t attempt) {
  if (payload == "null") return caf::make_error(caf::sec::runtime_error, "nobody to greet");
  return R"({"hello":)" + payload + R"(,"job":")" + job + R"(","attempt":)"
         + std::to_string(attempt) + "}";
}

struct config : caf::actor_system_config {
  std::string host = "127.0.0.1";
  std::uint16_t port = 4711;
  config() {
    opt_group{custom_options_, "global"}
        .add(host, "host", "address to listen at")
        .add(port, "port,p", "port to listen at, 0 = any free");
  }
};

void caf_main(caf::actor_system& system, const config& options) {
  system.registry().put(caf::atom("greeter"), system.spawn([] { return caf::behavior{greet}; }));
  auto port = system.middleman().open(options.port, options.host.c_str(), true);
  if (!port) {
    std::cerr << system.render(port.error()) << std::endl;
    std::exit(1);
  }
  std::cout << "greeter@" << options.host << ':' << *port << std::endl;
  system.await_all_actors_done(); // until Ctrl-C
}

CAF_MAIN(caf::io::middleman)

#include "conf/cluster_keys.hpp"

#include "conf/units.hpp"

#include <algorithm>
#include <cctype>

namespace lycosa::conf {

namespace {

constexpr std::uint64_t ms = 1'000;
constexpr std::uint64_t second = 1'000 * ms;
constexpr std::uint64_t hour = 3'600 * second;

// Captureless, so that the table stays plain data.
#define AT(member) [](settings& s) -> field { return &s.cluster.member; }

} // namespace

std::vector<key_info> cluster_keys() {
  return {
      {.section = "cluster",
       .name = "mode",
       .get = AT(mode),
       .meaning = "\"single\": this node works alone. \"etcd\": it is one of several that keep the "
                  "same data and agree through etcd; node.data is required.",
       .unit = "",
       .choices = {"single", "etcd"}},
      {"cluster", "name", AT(name),
       "Name of the cluster: what nodes of one share, and the prefix of its keys in etcd.", ""},
      {.section = "cluster",
       .name = "listen",
       .get = AT(listen),
       .meaning = "Address that other nodes connect to. Outside of loopback set a secret or TLS.",
       .unit = "",
       .address = true},
      {"cluster", "advertise", AT(advertise),
       "HOST:PORT by which other nodes reach cluster.listen, if it is another. Empty = the same.",
       ""},
      {"cluster", "http_advertise", AT(http_advertise),
       "HOST:PORT of this node's HTTP interface as others see it. Empty = http.listen.", ""},
      {"cluster", "etcd", AT(etcd),
       "Endpoints of etcd (version 3), e.g. [\"http://10.0.0.1:2379\", \"http://10.0.0.2:2379\"].",
       ""},
      {"cluster", "etcd_user", AT(etcd_user), "User at etcd; empty = without.", ""},
      {"cluster", "etcd_password", AT(etcd_password), "Password of etcd_user.", ""},
      {"cluster", "etcd_ca", AT(etcd_ca),
       "Authority (PEM file) that etcd's certificates are checked with; empty = the system's.", ""},
      {"cluster", "etcd_cert", AT(etcd_cert),
       "Certificate (PEM file) to show to etcd; empty = none.", ""},
      {"cluster", "etcd_key", AT(etcd_key), "Private key (PEM file) of etcd_cert.", ""},
      {"cluster", "session", AT(session),
       "A node that etcd has not heard of for so long has lost its place, and others take over. "
       "Whole seconds.",
       "", 2 * second, 600 * second},
      {"cluster", "replicas", AT(replicas), "Nodes that hold a copy of the data, at most.", "nodes",
       1, 16},
      {"cluster", "min_in_sync", AT(min_in_sync),
       "A write is acknowledged when it is on the disks of all copies that are in sync, and these "
       "are at least so many; with fewer it is refused. Until so many nodes have joined, what there "
       "is suffices.",
       "nodes", 1, 16},
      {"cluster", "failure_domain", AT(failure_domain),
       "What fails together with this node, e.g. its rack: copies are kept in different ones. Empty "
       "= only the node itself.",
       ""},
      {"cluster", "heartbeat", AT(heartbeat),
       "Nodes tell each other so often that they are there; after four silent ones a connection "
       "counts as dead.",
       "", 50 * ms, 60 * second},
      {"cluster", "slow_after", AT(slow_after),
       "A copy that is so far behind is waited for no longer, and catches up.", "", 500 * ms,
       600 * second},
      {"cluster", "replace_after", AT(replace_after),
       "A node that is away for so long gives its place to another one, if there is one.", "",
       second, 720 * hour},
      {"cluster", "log_size", AT(log_size),
       "Bytes of commits that each shard keeps for nodes that are away, at most; one that is away "
       "longer is copied whole.",
       "", 1 << 20, std::uint64_t{1} << 40},
      {"cluster", "copy_rate", AT(copy_rate),
       "Bytes a second at which a shard is copied to a node that joins, at most.", "", 64 << 10,
       std::uint64_t{1} << 40},
      {"cluster", "secret", AT(secret),
       "Text that all nodes of the cluster know: whoever does not is refused. It does not hide what "
       "is sent.",
       ""},
      {"cluster", "tls_cert", AT(tls_cert),
       "Certificate (PEM file) of this node towards other nodes; with tls_key and tls_ca all that "
       "nodes send is encrypted, and both sides must show one.",
       ""},
      {"cluster", "tls_key", AT(tls_key), "Private key (PEM file) of cluster.tls_cert.", ""},
      {"cluster", "tls_ca", AT(tls_ca),
       "Authority (PEM file) that has signed the nodes' certificates.", ""},
  };
}

void check_cluster(
    const settings& s,
    const std::function<void(const std::string& key, const std::string& why)>& complain) {
  const auto& c = s.cluster;
  const bool named = !c.name.empty() && c.name.size() <= 64
                     && std::all_of(c.name.begin(), c.name.end(), [](unsigned char ch) {
                          return std::isalnum(ch) != 0 || ch == '-' || ch == '_' || ch == '.';
                        });
  if (!named) complain("cluster.name", "is not 1 to 64 letters, digits, dots, dashes, underscores");
  if (c.min_in_sync > c.replicas)
    complain("cluster.min_in_sync", "is larger than cluster.replicas, so nothing could be written");
  if (c.session.count() % 1'000'000 != 0) complain("cluster.session", "is not in whole seconds");
  const int tls = !c.tls_cert.empty() + !c.tls_key.empty() + !c.tls_ca.empty();
  if (tls != 0 && tls != 3)
    complain(c.tls_key.empty()    ? "cluster.tls_key"
             : c.tls_cert.empty() ? "cluster.tls_cert"
                                  : "cluster.tls_ca",
             "is missing: tls_cert, tls_key and tls_ca go together");
  if (c.etcd_cert.empty() != c.etcd_key.empty())
    complain(c.etcd_cert.empty() ? "cluster.etcd_cert" : "cluster.etcd_key",
             "is missing: etcd_cert and etcd_key go together");
  for (const auto& [key, value] :
       {std::pair{"cluster.advertise", &c.advertise}, {"cluster.http_advertise", &c.http_advertise}})
    if (!value->empty())
      if (auto at = parse_endpoint(*value); !at) complain(key, at.error().why);
  if (c.mode != "etcd") return;
  if (c.etcd.empty()) complain("cluster.etcd", "names no endpoint");
  for (const auto& e : c.etcd)
    if (!e.starts_with("http://") && !e.starts_with("https://"))
      complain("cluster.etcd", "'" + e + "' is not http://HOST:PORT or https://HOST:PORT");
  if (s.node.data.empty())
    complain("node.data", "is empty: a node of a cluster needs a directory");
}

} // namespace lycosa::conf

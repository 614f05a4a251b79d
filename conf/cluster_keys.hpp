#pragma once

#include "conf/keys.hpp"

#include <functional>
#include <string>
#include <vector>

namespace lycosa::conf {

/// The section `cluster`.
[[nodiscard]] std::vector<key_info> cluster_keys();

/// What does not go together there: calls `complain` with the key to blame and the reason.
void check_cluster(const settings& s,
                   const std::function<void(const std::string& key, const std::string& why)>& complain);

} // namespace lycosa::conf

#pragma once

#include "core/histogram.hpp"

#include <prometheus/metric_family.h>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lycosa::gateway {

using metric_labels = std::initializer_list<std::pair<std::string_view, std::string_view>>;

/// Families of metrics as they are put together for one answer.
class metric_families {
public:
  class family {
  public:
    explicit family(prometheus::MetricFamily& of) : of_(of) {}
    /// One series of a counter or gauge.
    family& add(metric_labels labels, double value);
    family& add(metric_labels labels, std::uint64_t value) {
      return add(labels, static_cast<double>(value));
    }
    family& add(metric_labels labels, const histogram_counts& counts);

  private:
    prometheus::ClientMetric& series(metric_labels labels);
    prometheus::MetricFamily& of_;
  };

  /// The family may be used until the next one is made.
  family counter(std::string name, std::string help);
  family gauge(std::string name, std::string help);
  family histogram(std::string name, std::string help);

  [[nodiscard]] std::string text() const;

private:
  family make(prometheus::MetricType type, std::string name, std::string help);
  std::vector<prometheus::MetricFamily> all_;
};

} // namespace lycosa::gateway

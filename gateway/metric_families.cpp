#include "gateway/metric_families.hpp"

#include <prometheus/text_serializer.h>

#include <limits>

namespace lycosa::gateway {

prometheus::ClientMetric& metric_families::family::series(metric_labels labels) {
  auto& m = of_.metric.emplace_back();
  for (const auto& [name, value] : labels)
    m.label.push_back({std::string{name}, std::string{value}});
  return m;
}

metric_families::family& metric_families::family::add(metric_labels labels, double value) {
  auto& m = series(labels);
  if (of_.type == prometheus::MetricType::Counter)
    m.counter.value = value;
  else
    m.gauge.value = value;
  return *this;
}

metric_families::family& metric_families::family::add(metric_labels labels,
                                                      const histogram_counts& counts) {
  auto& h = series(labels).histogram;
  std::uint64_t below = 0;
  for (std::size_t i = 0; i < counts.buckets.size(); ++i) {
    below += counts.buckets[i];
    const auto bound =
        i < counts.bounds.size() ? counts.bounds[i] : std::numeric_limits<double>::infinity();
    h.bucket.push_back({below, bound});
  }
  h.sample_count = below;
  h.sample_sum = counts.sum;
  return *this;
}

metric_families::family metric_families::make(prometheus::MetricType type, std::string name,
                                              std::string help) {
  auto& f = all_.emplace_back();
  f.name = std::move(name);
  f.help = std::move(help);
  f.type = type;
  return family(f);
}

metric_families::family metric_families::counter(std::string name, std::string help) {
  return make(prometheus::MetricType::Counter, std::move(name), std::move(help));
}
metric_families::family metric_families::gauge(std::string name, std::string help) {
  return make(prometheus::MetricType::Gauge, std::move(name), std::move(help));
}
metric_families::family metric_families::histogram(std::string name, std::string help) {
  return make(prometheus::MetricType::Histogram, std::move(name), std::move(help));
}

std::string metric_families::text() const {
  return prometheus::TextSerializer{}.Serialize(all_);
}

} // namespace lycosa::gateway

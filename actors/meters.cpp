#include "actors/meters.hpp"

namespace lycosa::actors {

namespace {

constexpr std::array commit_bounds{0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025,
                                   0.05,   0.1,     0.25,   0.5,   1.0,    2.5,   5.0,  10.0};
constexpr std::array size_bounds{1.0,   2.0,   5.0,    10.0,   25.0,   50.0,   100.0,
                                 250.0, 500.0, 1000.0, 2500.0, 5000.0, 10000.0};
constexpr std::array late_bounds{0.001, 0.0025, 0.005, 0.01,   0.025,  0.05, 0.1,
                                 0.25,  0.5,    1.0,   2.5,    5.0,    10.0, 30.0,
                                 60.0,  300.0,  1800., 3600.0, 21600.0};
constexpr std::array run_bounds{0.01, 0.05, 0.1,   0.5,   1.0,    5.0,
                                15.0, 60.0, 300.0, 900.0, 3600.0, 21600.0};

} // namespace

shard_meter::shard_meter()
    : commit_seconds(commit_bounds), sync_seconds(commit_bounds), commit_operations(size_bounds) {}

node_meters::node_meters()
    : lateness(late_bounds), job_lateness(late_bounds), job_durations(run_bounds) {}

} // namespace lycosa::actors

#include "actors/clock.hpp"

#include <chrono>

namespace lycosa::actors {

namespace {

class machine_clock final : public clock {
public:
  [[nodiscard]] instant now() const override {
    using namespace std::chrono;
    return {time_point_cast<usec>(system_clock::now()),
            mono_time{duration_cast<usec>(steady_clock::now().time_since_epoch())}};
  }
};

} // namespace

clock_ptr make_system_clock() {
  return std::make_shared<machine_clock>();
}

} // namespace lycosa::actors

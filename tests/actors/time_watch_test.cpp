#include "actors/time_watch.hpp"

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>

namespace lycosa::actors {
namespace {

namespace fs = std::filesystem;

constexpr auto patience = std::chrono::seconds{60};

/// What a watch has told.
class listener {
public:
  time_watch::handler handler() {
    return [this](time_change what) {
      const std::lock_guard lock(mutex_);
      ++(what == time_change::clock ? clock_ : zones_);
      changed_.notify_all();
    };
  }
  bool wait_zones(int n) { return wait(zones_, n); }
  bool wait_clock(int n) { return wait(clock_, n); }
  int zones() { return read(zones_); }
  int clock() { return read(clock_); }

private:
  bool wait(const int& count, int n) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, patience, [&] { return count >= n; });
  }
  int read(const int& count) {
    const std::lock_guard lock(mutex_);
    return count;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  int clock_ = 0, zones_ = 0;
};

class zone_folder : public ::testing::Test {
protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "lycosa-zones-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    dir_ = name;
    zones_ = dir_ / "zoneinfo";
  }
  void TearDown() override {
    std::error_code ec;
    fs::remove_all(dir_, ec);
  }
  [[nodiscard]] time_sources sources() const {
    time_sources s;
    s.zone_folders = {zones_.string() + "/"};
    return s;
  }
  static void write(const fs::path& file) { std::ofstream(file) << "TZif"; }

  fs::path dir_, zones_;
  listener heard_;
};

TEST_F(zone_folder, a_file_put_in_the_place_of_another_is_told) {
  fs::create_directories(zones_ / "America/Indiana");
  write(zones_ / "America/Indiana/Knox");
  const time_watch watch(heard_.handler(), sources());
  write(dir_ / "Knox.new");
  fs::rename(dir_ / "Knox.new", zones_ / "America/Indiana/Knox");
  EXPECT_TRUE(heard_.wait_zones(1));
  EXPECT_EQ(heard_.clock(), 0);
}

TEST_F(zone_folder, a_link_that_names_another_zone_is_told) {
  fs::create_directories(zones_);
  fs::create_symlink(zones_ / "UTC", dir_ / "localtime");
  auto of = sources();
  of.zone_folders.push_back((dir_ / "localtime").string());
  const time_watch watch(heard_.handler(), of);
  fs::create_symlink(zones_ / "Zulu", dir_ / "new");
  fs::rename(dir_ / "new", dir_ / "localtime"); // as `timedatectl set-timezone` does it
  EXPECT_TRUE(heard_.wait_zones(1));
  fs::remove(dir_ / "localtime");
  fs::create_symlink(zones_ / "UTC", dir_ / "localtime"); // as `ln -sf`
  EXPECT_TRUE(heard_.wait_zones(2));
}

TEST_F(zone_folder, a_file_written_over_is_told) {
  fs::create_directories(zones_);
  write(zones_ / "CET");
  const time_watch watch(heard_.handler(), sources());
  write(zones_ / "CET");
  EXPECT_TRUE(heard_.wait_zones(1));
}

TEST_F(zone_folder, a_region_that_is_new_is_watched_too) {
  fs::create_directories(zones_);
  const time_watch watch(heard_.handler(), sources());
  fs::create_directory(zones_ / "Asia");
  ASSERT_TRUE(heard_.wait_zones(1));
  const auto before = heard_.zones();
  write(zones_ / "Asia/Tokyo");
  EXPECT_TRUE(heard_.wait_zones(before + 1));
}

TEST_F(zone_folder, a_database_that_is_installed_later_is_told) {
  const time_watch watch(heard_.handler(), sources());
  fs::create_directory(zones_);
  ASSERT_TRUE(heard_.wait_zones(1));
  const auto before = heard_.zones();
  write(zones_ / "CET");
  EXPECT_TRUE(heard_.wait_zones(before + 1));
}

TEST_F(zone_folder, another_folder_put_in_its_place_is_watched) {
  fs::create_directory(zones_);
  const time_watch watch(heard_.handler(), sources());
  fs::create_directory(dir_ / "newer");
  fs::rename(zones_, dir_ / "older");
  fs::rename(dir_ / "newer", zones_);
  ASSERT_TRUE(heard_.wait_zones(1));
  const auto before = heard_.zones();
  write(zones_ / "CET");
  EXPECT_TRUE(heard_.wait_zones(before + 1));
}

TEST_F(zone_folder, a_neighbour_of_the_folder_is_nobodys_business) {
  fs::create_directory(zones_);
  const time_watch watch(heard_.handler(), sources());
  for (int i = 0; i < 100; ++i)
    write(dir_ / ("other-" + std::to_string(i)));
  // The watch reads what happened in order, so it has seen those when it tells of this one.
  write(zones_ / "CET");
  ASSERT_TRUE(heard_.wait_zones(1));
  EXPECT_EQ(heard_.zones(), 1);
}

/// A stand-in for the timer that the system cancels when the clock is set.
class fake_timer {
public:
  explicit fake_timer(bool was_set) : was_set_(was_set) {}
  time_sources sources(time_sources s) {
    s.open_clock = [this] { return fd_ = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC); };
    s.clock_was_set = [this](int fd) {
      std::uint64_t n = 0;
      (void)!::read(fd, &n, sizeof n);
      return was_set_;
    };
    return s;
  }
  void fire() const {
    const std::uint64_t one = 1;
    ASSERT_EQ(::write(fd_, &one, sizeof one), static_cast<ssize_t>(sizeof one));
  }

private:
  bool was_set_;
  int fd_ = -1;
};

TEST_F(zone_folder, each_setting_of_the_clock_is_told) {
  fake_timer timer(true);
  const time_watch watch(heard_.handler(), timer.sources(sources()));
  timer.fire();
  ASSERT_TRUE(heard_.wait_clock(1));
  timer.fire();
  ASSERT_TRUE(heard_.wait_clock(2));
  EXPECT_EQ(heard_.zones(), 0);
}

TEST_F(zone_folder, a_timer_that_was_not_cancelled_says_nothing) {
  fs::create_directory(zones_);
  fake_timer timer(false);
  const time_watch watch(heard_.handler(), timer.sources(sources()));
  timer.fire();
  write(zones_ / "CET");
  ASSERT_TRUE(heard_.wait_zones(1));
  EXPECT_EQ(heard_.clock(), 0);
}

TEST_F(zone_folder, without_a_timer_the_zones_are_watched_all_the_same) {
  fs::create_directory(zones_);
  auto from = sources();
  from.open_clock = [] { return -1; };
  const time_watch watch(heard_.handler(), std::move(from));
  write(zones_ / "CET");
  EXPECT_TRUE(heard_.wait_zones(1));
}

} // namespace
} // namespace lycosa::actors

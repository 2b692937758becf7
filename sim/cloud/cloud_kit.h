// SPDX-License-Identifier: Apache-2.0
// A simulated cloud, a laptop that uses it, and how to let its time pass. For tests.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "sim/cloud/cloud.h"

namespace stoker::sim {
inline constexpr int64_t kMinute = 60'000;
inline constexpr int64_t kHour = 60 * kMinute;

class CloudTest : public testing::Test {
 protected:
  CloudTest() {
    cloud.boot_low = cloud.boot_high = 1'000;
    const auto hears = [this](const char* word) {
      return [this, word](CloudMachine& machine) {
        story += word + machine.id.substr(9) + "@" + std::to_string(scheduler.now()) + " ";
      };
    };
    cloud.booted = hears("up");
    cloud.stopped = hears("off");
    cloud.ended = hears("end");
  }
  ~CloudTest() override { laptop.Kill(); }

  LaunchRequest Request(const std::string& token) {
    LaunchRequest request;
    request.token = token;
    request.ledger_id = "ledger";
    request.job = "job";
    request.launches = {3};
    request.limit = Duration::Hours(24);
    return request;
  }
  // Outside of fibers.
  std::string Launch(const std::string& token) {
    const auto ids = direct.Launch(Request(token));
    EXPECT_TRUE(ids.ok()) << ids.status().ToString();
    return ids.ok() ? ids->front() : "";
  }
  void RunUntil(int64_t when) {
    while (scheduler.next() != -1 && scheduler.next() <= when) scheduler.RunOne();
    bool there = false;
    scheduler.At(when, [&] { there = true; });
    while (!there) scheduler.RunOne();
  }
  // In a fiber, to its end.
  void InFiber(const std::function<void()>& body) {
    bool over = false;
    laptop.Spawn([&] {
      body();
      over = true;
    });
    while (!over && scheduler.RunOne()) {
    }
    ASSERT_TRUE(over);
  }
  InstanceState State(const std::string& id) { return cloud.Find(id)->state; }

  Scheduler scheduler;
  Prng prng{7};
  Cloud cloud{scheduler, prng};
  Link link;
  Process laptop{scheduler, "laptop"};
  CloudClient direct{cloud, scheduler, prng, "test", nullptr};
  CloudClient client{cloud, scheduler, prng, "laptop", &link};
  std::string story;
};

}  // namespace stoker::sim

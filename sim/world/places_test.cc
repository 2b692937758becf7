// SPDX-License-Identifier: Apache-2.0
// A world of three providers, of which one does not answer for an hour.
#include <gtest/gtest.h>

#include <map>

#include "sim/play/runs.h"
#include "sim/world/observer.h"
#include "sim/world/world.h"

namespace stoker::sim {
namespace {

constexpr int64_t kAway = 180'000;
constexpr int64_t kBack = kAway + 3'600'000;

Plan ThreeProviders(uint64_t seed, ControllerKind who) {
  Plan plan;
  plan.seed = seed;
  plan.calm = 2 * 3'600'000;
  plan.zones = {{"zone-a"}, {"zone-b"}, {"zone-c"}};
  const char* const providers[] = {"local", "ec2", "gce"};
  for (size_t i = 0; i < plan.zones.size(); ++i) plan.zones[i].provider = providers[i];
  for (int home = 1; home <= 3; ++home) {
    JobPlan job;
    job.any_zone = home;
    job.attached = false;
    job.submit_at = home * 1'000;
    job.program.steps = 2'500;
    job.program.step_ms = 1'000;
    job.program.checkpoint_every = 20;
    plan.jobs.push_back(job);
  }
  plan.controllers = {{who, 5'000, -1, who == ControllerKind::kTimer ? 60'000 : 5'000}};
  plan.tier = who == ControllerKind::kTimer ? Tier::kTimer : Tier::kAll;
  plan.faults.push_back({"cloud-away"});
  plan.faults.back().zone = "zone-b";
  plan.faults.back().at = kAway;
  plan.faults.back().amount = kBack - kAway;
  return plan;
}

// Kills the first machine of each job while the provider is away, and keeps when each was replaced.
class Deaths : public Observer {
 public:
  explicit Deaths(World& world) : world_(world) {
    world.scheduler().At(kAway + 300'000, [this] {
      for (auto& [id, machine] : world_.cloud().machines()) {
        if (machine.state == InstanceState::kRunning) killed_[machine.request.job] = id;
      }
      for (const auto& [job, id] : killed_) world_.cloud().End(id, "the host failed");
    });
  }
  void OnBooted(const CloudMachine& machine) override {
    const auto killed = killed_.find(machine.request.job);
    if (killed == killed_.end() || killed->second == machine.id) return;
    again.emplace(machine.request.job, world_.now() - (kAway + 300'000));
    zones.emplace(machine.request.job, machine.zone);
  }

  std::map<std::string, int64_t> again;  // ms after it died, by job
  std::map<std::string, std::string> zones;

 private:
  World& world_;
  std::map<std::string, std::string> killed_;
};

void Play(ControllerKind who, int64_t within) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    const Plan plan = ThreeProviders(seed, who);
    World world(plan);
    Deaths deaths(world);
    world.Watch(&deaths);
    world.Run();
    ASSERT_FALSE(world.breach()) << world.breach()->what;
    ASSERT_EQ(deaths.again.size(), 3U);
    std::map<std::string, int64_t> by_zone;
    for (const auto& [job, after] : deaths.again) by_zone[deaths.zones[job]] = after;
    // What is silent hides nothing of the others, whose jobs stay where they are.
    ASSERT_TRUE(by_zone.contains("zone-a") && by_zone.contains("zone-c"));
    EXPECT_LT(by_zone["zone-a"], within);
    EXPECT_LT(by_zone["zone-c"], within);
    for (const auto& [id, job] : world.jobs()) EXPECT_EQ(job.state, JobState::kSucceeded) << id;
    std::printf("seed %d: replaced after %lld s and %lld s, the silent one's after %lld s\n",
                static_cast<int>(seed), static_cast<long long>(by_zone["zone-a"] / 1000),
                static_cast<long long>(by_zone["zone-c"] / 1000),
                static_cast<long long>(by_zone["zone-b"] / 1000));
  }
}

TEST(PlacesTest, OneThatIsSilentHidesNothingOfTheOthers) {
  Play(ControllerKind::kDaemon, 5 * 60'000);
}

TEST(PlacesTest, AlsoUnderATimerAlone) { Play(ControllerKind::kTimer, 15 * 60'000); }

}  // namespace
}  // namespace stoker::sim

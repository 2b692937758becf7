// SPDX-License-Identifier: Apache-2.0
#include "sim/play/shrink.h"

#include <gtest/gtest.h>

#include <set>

#include "base/text.h"
#include "checkpoint/manifest.h"
#include "sim/play/narrator.h"
#include "sim/play/scenario.h"
#include "sim/play/swarm.h"

namespace stoker::sim {
namespace {

// A rule that worlds break for certain: no machine fails once its job has saved something.
class NobodyFailsLate : public Observer {
 public:
  explicit NobodyFailsLate(World& world) : world_(world) {}
  void OnChange(const BucketChange& change) override {
    if (!IdOfManifestKey(change.key) || !change.after) return;
    const auto manifest = DecodeManifest(*change.after);
    if (manifest.ok()) saved_.insert(manifest->job);
  }
  void OnMachineEnded(const CloudMachine& machine) override {
    if (machine.why != "the host failed" || saved_.count(machine.request.job) == 0) return;
    world_.Breach("nobody-fails-late", machine.id + " failed", machine.request.job);
  }

 private:
  World& world_;
  std::set<std::string> saved_;
};

std::string Breaks(const Plan& plan) {
  World world(plan);
  NobodyFailsLate rule(world);
  world.Watch(&rule);
  world.Run();
  return world.breach() ? world.breach()->rule : "";
}

// Two jobs, noise everywhere, a dozen faults; among them what matters.
Plan Crowded() {
  Plan plan;
  plan.seed = 18;
  plan.controllers = {ControllerPlan()};
  plan.calm = 300'000;
  plan.quota = 1'000'000;
  plan.jobs = {JobPlan(), JobPlan()};
  plan.jobs[0].nodes = 2;
  plan.jobs[1].cancel_at = {250'000, 260'000};
  plan.jobs[1].program.on_term = OnTerm::kIgnores;
  plan.bucket.before = 20;
  plan.cloud.after = 50;
  plan.faults.clear();
  for (const char* kind :
       {"cut", "notice", "kill", "step-clock", "kill-agent", "kill", "pause-agent", "full-disk",
        "store-away", "kill-actor", "withdraw", "kill"}) {
    FaultPlan fault;
    fault.kind = kind;
    fault.at = 20'000 + 10'000 * static_cast<int64_t>(plan.faults.size());
    fault.amount = 10'000;
    plan.faults.push_back(fault);
  }
  return plan;
}

TEST(Shrink, LeavesWhatMatters) {
  Plan crowded = Crowded();
  // Of the seeds, one in which the rule breaks: which do changes with every draw in the simulator.
  while (crowded.seed < 50 && Breaks(crowded).empty()) ++crowded.seed;
  ASSERT_EQ(Breaks(crowded), "nobody-fails-late");
  const Shrunk shrunk = Shrink(crowded, Breaks, 1'500);
  EXPECT_EQ(shrunk.rule, "nobody-fails-late");
  const Plan& plan = shrunk.plan;
  EXPECT_EQ(Breaks(plan), "nobody-fails-late");
  ASSERT_EQ(plan.faults.size(), 1U);
  EXPECT_EQ(plan.faults[0].kind, "kill");
  ASSERT_EQ(plan.jobs.size(), 1U);
  EXPECT_EQ(plan.jobs[0].nodes, 1);
  EXPECT_TRUE(plan.jobs[0].cancel_at.empty());
  EXPECT_TRUE(plan.controllers.empty());
  EXPECT_EQ(plan.bucket.before, 0);
  EXPECT_EQ(plan.cloud.after, 0);

  // What is printed is what was found, and its story is short and in sentences.
  const std::string text = PrintScenario(plan);
  const auto again = ParseScenario(text, "shrunk", 0);
  ASSERT_TRUE(again.ok()) << again.status().ToString();
  EXPECT_EQ(Breaks(again->plan), "nobody-fails-late") << text;
  EXPECT_LE(Split(text, '\n').size(), 12U) << text;
  World world(plan);
  NobodyFailsLate rule(world);
  Narrator narrator(world);
  world.Watch(&narrator);
  world.Watch(&rule);
  world.Run();
  const auto story = narrator.Story(world.breach()->job);
  EXPECT_LE(story.size(), 30U);
  EXPECT_NE(Join(story, "\n").find("a fault strikes: kill"), std::string::npos)
      << Join(story, "\n");
  for (const std::string& line : story) {
    EXPECT_TRUE(StartsWith(line, "At ") && EndsWith(line, ".")) << line;
  }
}

TEST(Shrink, APlanThatBreaksNothingStays) {
  const Plan plan = DrawPlan(3);
  int runs = 0;
  const auto never = [&](const Plan&) -> std::string {
    ++runs;
    return "";
  };
  const Shrunk shrunk = Shrink(plan, never, 100);
  EXPECT_EQ(shrunk.rule, "");
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(PrintScenario(shrunk.plan), PrintScenario(plan));
}

TEST(Shrink, StopsWhenItHasTriedEnough) {
  int runs = 0;
  const auto always = [&](const Plan&) -> std::string {
    ++runs;
    return "always";
  };
  EXPECT_EQ(Shrink(Crowded(), always, 10).tries, 10);
  EXPECT_EQ(runs, 10);
  // Where everything breaks it, nothing is left.
  const Shrunk least = Shrink(Crowded(), always, 10'000);
  EXPECT_TRUE(least.plan.faults.empty());
  EXPECT_EQ(least.plan.jobs.size(), 1U);
  EXPECT_EQ(least.plan.jobs[0].program.steps, 1);
}

// Another rule than the one that is looked for does not count.
TEST(Shrink, KeepsToItsRule) {
  const auto by_size = [](const Plan& plan) -> std::string {
    return plan.faults.size() > 6 ? "many" : "few";
  };
  const Shrunk shrunk = Shrink(Crowded(), by_size, 10'000);
  EXPECT_EQ(shrunk.rule, "many");
  EXPECT_EQ(shrunk.plan.faults.size(), 7U);
}

}  // namespace
}  // namespace stoker::sim

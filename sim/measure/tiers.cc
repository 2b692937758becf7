// SPDX-License-Identifier: Apache-2.0
#include "sim/measure/tiers.h"

#include <algorithm>
#include <map>

#include "base/prng.h"
#include "base/text.h"
#include "sim/check/checks.h"
#include "sim/measure/work_watch.h"
#include "sim/time/clock.h"

namespace stoker::sim {
namespace {

constexpr int64_t kMinute = 60'000;
constexpr int64_t kHour = 60 * kMinute;
constexpr int64_t kNight = 8 * kHour;  // a laptop is closed
constexpr int64_t kForGood = 60 * kHour;
constexpr int64_t kLimit = 60 * kHour;

FaultPlan While(const std::string& kind, int64_t amount) {
  FaultPlan fault;
  fault.kind = kind;
  fault.amount = amount;
  fault.on = "program-starts";
  fault.number = 1;
  return fault;
}

FaultPlan LaptopCloses() {
  FaultPlan fault;
  fault.kind = "pause-actor";
  fault.amount = kNight;
  fault.on = "record-written";  // rev 2: the launch is in it, and will be asked for
  fault.number = 2;
  fault.who = "cause";
  return fault;
}

// When the story strikes: 30 to 90 minutes into the two hours of training. In the middle of a
// request its moment is one of a few hundred milliseconds.
void DrawMoment(const TierStory& story, Prng& rng, Plan* plan) {
  const int64_t late = rng.Between(30 * kMinute, 90 * kMinute);
  const int64_t soon = rng.Between(0, 300);
  for (FaultPlan fault : story.faults) {
    fault.after_ms += story.before_first_step ? soon : late;
    plan->faults.push_back(fault);
  }
}

Plan PlanOf(const TierSetting& setting) {
  Prng rng(Prng(setting.seed * 2 + 1).Next() + 11);  // as in scenario.cc
  const TierCast& cast = setting.cast;
  Plan plan = PlanLongJob(setting.job, setting.seed);
  plan.name = setting.story.name + ", " + cast.name;
  plan.tier = cast.nodes;
  plan.calm = kLimit;  // it has no noise, and what a story does it does at its time
  plan.limit = kLimit;
  plan.poll = Duration::Seconds(15);
  plan.jobs.front().attached = cast.attached;
  DrawMoment(setting.story, rng, &plan);
  if (cast.verb_every_ms > 0) {
    // Nobody types while the laptop is closed.
    const int64_t first = setting.story.before_first_step ? kNight : 0;
    const int64_t begin = first + rng.Between(0, cast.verb_every_ms);
    plan.controllers.push_back({ControllerKind::kVerb, begin, -1, cast.verb_every_ms});
  }
  if (cast.timer_every_ms > 0) {
    const int64_t begin = rng.Between(0, cast.timer_every_ms);
    plan.controllers.push_back({ControllerKind::kTimer, begin, -1, cast.timer_every_ms});
  }
  if (cast.away_every_ms > 0) {
    const int64_t begin = rng.Between(0, cast.away_every_ms);
    ControllerPlan away{ControllerKind::kAway, begin, -1, cast.away_every_ms};
    away.late = kMinute;
    away.missing = 50;
    away.doubled = 100;
    away.lost = cast.away_deaf;
    away.machines = 2 * setting.job.nodes;
    plan.controllers.push_back(away);
  }
  plan.controllers.push_back({ControllerKind::kVerb, kHandComes, -1, 5 * kMinute});
  return plan;
}

// Machines without a program, and what the hand had to do.
class TierWatch : public Observer {
 public:
  explicit TierWatch(World& world) : world_(world) {
    const size_t hand = world.plan().controllers.size() - 1;
    hand_ = "looker" + std::to_string(hand) + "/";
    world.Watch(this);
  }

  void OnRecord(const Job&, const Job&, const std::string& writer) override {
    if (StartsWith(writer, hand_)) ++by_hand_;
  }
  void OnProgramStarts(const ProgramView& view) override { began_[view.machine] = world_.now(); }
  void OnProgramEnds(const ProgramView& view, int, int) override {
    worked_ms_ += world_.now() - began_[view.machine];
    began_.erase(view.machine);
  }
  int by_hand() const { return by_hand_; }
  // Once the world has ended.
  int64_t worked_ms() const {
    int64_t sum = worked_ms_;
    for (const auto& [machine, began] : began_) sum += world_.now() - began;
    return sum;
  }

 private:
  World& world_;
  std::string hand_;
  int by_hand_ = 0;
  std::map<std::string, int64_t> began_;  // by machine
  int64_t worked_ms_ = 0;
};

int64_t EndOf(const CloudMachine& machine, int64_t now) {
  return machine.state == InstanceState::kGone ? machine.gone_at : now;
}

}  // namespace

const std::vector<TierCast>& TierCasts() {
  static const std::vector<TierCast> casts = {
      {"attached", "an attached `run`, and no other", Tier::kVerbs, true, 0, 0},
      {"verbs", "somebody types a verb each hour", Tier::kVerbs, false, kHour, 0},
      {"agents", "every live agent of the job", Tier::kAgents, false, 0, 0},
      {"departing", "a node that has a notice", Tier::kDeparting, false, 0, 0},
      {"timer", "`stoker controller --once` each minute", Tier::kTimer, false, 0, kMinute},
      {"away", "a function each five minutes and at events, of which some are lost", Tier::kVerbs,
       false, 0, 0, 5 * kMinute, 100},
      {"away, deaf", "the same without any event", Tier::kVerbs, false, 0, 0, 5 * kMinute, 1'000},
      {"all", "all of them but a function", Tier::kAll, true, kHour, kMinute},
  };
  return casts;
}

const std::vector<TierStory>& TierStories() {
  static const std::vector<TierStory> stories = [] {
    FaultPlan none = While("drought", kHour);
    FaultPlan then = While("kill", 0);
    then.after_ms = 1'000;
    FaultPlan noticed = While("notice", 120'000);
    noticed.after_ms = 1'000;
    return std::vector<TierStory>{
        {"nothing happens", {}, false},
        {"notice of 120 s", {While("notice", 120'000)}, false},
        {"notice of 120 s, and no machine for an hour", {none, noticed}, false},
        {"notice of 30 s", {While("notice", 30'000)}, false},
        {"taken without notice, or fails", {While("kill", 0)}, false},
        {"taken so, and no machine for an hour", {none, then}, false},
        {"the node hangs", {While("hang", kForGood)}, false},
        {"the agent is killed", {While("kill-agent", 5'000)}, false},
        {"the bucket is away for an hour", {While("store-away", kHour)}, false},
        {"the laptop is closed mid-launch, for 8 h", {LaptopCloses()}, true},
    };
  }();
  return stories;
}

LongJob TierJob(int nodes) {
  LongJob job;
  job.nodes = nodes;
  job.train_ms = 2 * kHour;
  return job;
}

TierOutcome PlayTier(const TierSetting& setting) {
  World world(PlanOf(setting));
  const Checks checks = WatchAll(world);
  WorkWatch work(world);
  TierWatch watch(world);
  world.Run();
  TierOutcome outcome;
  outcome.breach = world.breach();
  outcome.redone_ms = work.redone_ms() / setting.job.nodes;
  outcome.by_hand = watch.by_hand();
  for (const auto& pause : work.Pauses(1)) {
    outcome.stood_ms = std::max(outcome.stood_ms, pause.to - pause.from);
  }
  if (setting.story.before_first_step) {
    const int64_t first = work.first_step_at() < 0 ? world.now() : work.first_step_at();
    outcome.stood_ms = std::max(outcome.stood_ms, first);
  }
  const int64_t last = work.last_step_at();
  for (const auto& [id, job] : world.jobs()) {
    outcome.right = job.state == JobState::kSucceeded;
    if (!job.ended) continue;
    const int64_t ended = job.ended->ms - kEpochMs;
    outcome.unknown_ms = ended - last;
    outcome.alone = outcome.right && ended < kHandComes;
  }
  outcome.trained = outcome.right && last < kHandComes;
  for (const auto& [id, machine] : world.cloud().machines()) {
    if (machine.boots == 0) continue;
    const int64_t end = EndOf(machine, world.now());
    outcome.left_ms = std::max(outcome.left_ms, end - last);
    outcome.idle_ms += end - machine.booted_at;
  }
  outcome.idle_ms = std::max<int64_t>(outcome.idle_ms - watch.worked_ms(), 0);
  return outcome;
}

}  // namespace stoker::sim

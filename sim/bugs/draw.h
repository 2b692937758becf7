// SPDX-License-Identifier: Apache-2.0
// What the plans of the deliberate bugs have in common: one short job, two who reconcile. Every
// draw is a statement of its own: the order of draws is the order of the text.
#pragma once

#include <cstdint>
#include <string>

#include "base/prng.h"
#include "sim/world/plan.h"

namespace stoker::sim {

class Draw {
 public:
  // From a state that is far from the next seed's, see sim/play/swarm.cc.
  explicit Draw(uint64_t seed) : rng_(Prng(seed * 2 + 1).Next()) {
    plan.seed = seed;
    plan.name = "bugs";
    plan.calm = Long(100'000, 140'000);
    plan.limit = 4LL * 3'600'000;
    plan.describe_is_immediate = One(2);
    plan.boot_low = 300;
    plan.boot_high = Long(500, 4'000);
    plan.skew_ms = 1'000;
    plan.notice_poll = Duration::Seconds(1);
    plan.poll = Duration::Ms(Long(1'000, 3'000));
    plan.report = Duration::Ms(Long(4'000, 8'000));
    plan.flush = Duration::Ms(Long(1'000, 5'000));
    plan.jobs.push_back(Job());
    plan.controllers.push_back({ControllerKind::kDaemon, Long(0, 5'000), -1, Long(3'000, 8'000)});
    plan.controllers.push_back({ControllerKind::kVerb, plan.calm, -1, 60'000});
  }

  bool One(uint64_t in) { return rng_.Chance(1, in); }
  int Int(int64_t low, int64_t high) { return static_cast<int>(rng_.Between(low, high)); }
  int64_t Long(int64_t low, int64_t high) { return rng_.Between(low, high); }

  JobPlan Job() {
    JobPlan job;
    job.attached = One(2);
    ProgramPlan& program = job.program;
    program.steps = Int(40, 100);
    program.step_ms = Long(300, 1'000);
    program.start_ms = 200;
    program.checkpoint_every = Int(2, 6);
    program.style = static_cast<WriteStyle>(Int(0, 3));
    program.write_ms = Long(0, 600);
    program.on_term = static_cast<OnTerm>(Int(0, 3));
    job.stop_grace = Duration::Seconds(Int(2, 10));
    job.quiet = Duration::Ms(Long(500, 1'500));
    program.pause_ms = job.quiet.ms / 2;
    return job;
  }
  JobPlan& job() { return plan.jobs.front(); }

  void Gang() {
    job().nodes = Int(2, 3);
    job().program.every_rank_saves = true;
    // Nodes that save at a signal, each at its own step, leave nothing that anybody could pair.
    job().program.on_term = OnTerm::kDies;
  }
  void Daemons(int more) {
    for (int i = 0; i < more; ++i) {
      const int64_t begin = Long(0, 3'000);
      const int64_t period = Long(1'000, 4'000);
      plan.controllers.push_back({ControllerKind::kDaemon, begin, -1, period});
    }
  }
  // `count` faults of the kind, at times of the first minutes.
  void Faults(const std::string& kind, int count, int64_t low, int64_t high) {
    for (int i = 0; i < count; ++i) {
      FaultPlan fault;
      fault.kind = kind;
      fault.at = Long(3'000, 50'000);
      fault.amount = Long(low, high);
      plan.faults.push_back(fault);
    }
  }
  void StoreNoise(int rate) {
    plan.bucket.before = rate;
    plan.bucket.after = rate;
    plan.bucket.late = rate / 2;
    plan.bucket.throttled = rate;
  }
  void CloudNoise(int rate) {
    plan.cloud.before = rate;
    plan.cloud.after = rate;
    plan.cloud.late = rate / 2;
    plan.cloud.throttled = rate;
  }

  Plan plan;

 private:
  Prng rng_;
};

}  // namespace stoker::sim

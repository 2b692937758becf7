// SPDX-License-Identifier: Apache-2.0
// What a world's one job got done, what it had to do again, and when nobody trained.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "sim/world/observer.h"
#include "sim/world/world.h"

namespace stoker::sim {

// Of a world with one job, whose programs need no time for anything but steps (write_ms 0). Times
// are true to within one step: a step that did not end counts by the time that it had.
class WorkWatch : public Observer {
 public:
  // A time in which no node made a step.
  struct Pause {
    int64_t from = 0;
    int64_t to = 0;
  };

  explicit WorkWatch(World& world);

  // Of all nodes together: steps done again, and steps begun and lost.
  int64_t redone_ms() const { return redone_ms_; }
  // Attempts in which a program started, less the first.
  int restarts() const;
  // In order; those of `longer` ms and more, after the first step of all.
  std::vector<Pause> Pauses(int64_t longer) const;
  int64_t first_step_at() const { return first_step_at_; }  // -1 = there was none
  int64_t last_step_at() const { return covered_until_; }   // its end; -1 = there was none

  void OnProgramStarts(const ProgramView& view) override;
  void OnStep(const ProgramView& view) override;
  void OnProgramEnds(const ProgramView& view, int exit_code, int signal) override;

 private:
  void Cover(int64_t from, int64_t to);

  World& world_;
  const int64_t step_ms_;
  std::map<int, int> best_;       // by rank, the highest step ever done
  std::map<int, int64_t> since_;  // by rank, when its program was last seen to begin a step
  std::set<int> attempts_;
  std::vector<Pause> pauses_;
  int64_t redone_ms_ = 0;
  int64_t first_step_at_ = -1;
  int64_t covered_until_ = -1;
};

}  // namespace stoker::sim

// SPDX-License-Identifier: Apache-2.0
#include "sim/measure/work_watch.h"

#include <algorithm>

namespace stoker::sim {

WorkWatch::WorkWatch(World& world)
    : world_(world), step_ms_(world.plan().jobs.front().program.step_ms) {
  world.Watch(this);
}

int WorkWatch::restarts() const { return std::max<int>(0, static_cast<int>(attempts_.size()) - 1); }

std::vector<WorkWatch::Pause> WorkWatch::Pauses(int64_t longer) const {
  std::vector<Pause> out;
  for (const Pause& pause : pauses_) {
    if (pause.to - pause.from >= longer) out.push_back(pause);
  }
  return out;
}

void WorkWatch::Cover(int64_t from, int64_t to) {
  if (covered_until_ >= 0 && from > covered_until_) pauses_.push_back({covered_until_, from});
  if (first_step_at_ < 0) first_step_at_ = from;
  covered_until_ = std::max(covered_until_, to);
}

void WorkWatch::OnProgramStarts(const ProgramView& view) {
  attempts_.insert(view.attempt);
  since_[view.rank] = world_.now() + world_.PlanOf(view.job)->program.start_ms;
}

void WorkWatch::OnStep(const ProgramView& view) {
  const int64_t now = world_.now();
  int& best = best_[view.rank];
  if (view.step <= best) redone_ms_ += step_ms_;
  best = std::max(best, view.step);
  since_[view.rank] = now;
  Cover(now - step_ms_, now);
}

void WorkWatch::OnProgramEnds(const ProgramView& view, int /*exit_code*/, int /*signal*/) {
  if (view.step >= world_.PlanOf(view.job)->program.steps) return;
  const int64_t begun = std::clamp<int64_t>(world_.now() - since_[view.rank], 0, step_ms_);
  redone_ms_ += begun;
  if (begun > 0) Cover(since_[view.rank], since_[view.rank] + begun);
}

}  // namespace stoker::sim

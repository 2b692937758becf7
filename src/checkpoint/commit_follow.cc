// SPDX-License-Identifier: Apache-2.0
// What every rank but 0 does with its moments: it answers.
#include <algorithm>
#include <utility>

#include "base/deliberate_bug.h"
#include "checkpoint/commit.h"

namespace stoker {

void MomentCommit::NotGiven(const Moment& moment) {
  for (const auto& [path, file] : moment.files) {
    if (!file->object.empty() && file->snapshot) answers_.not_given.push_back(file);
  }
}

// Before a part is given: with what it does not name, rank 0 clears away what an upload has left
// that failed. That file may be of a moment which is given later still, and is sent again then.
void MomentCommit::ForgetNotGiven() {
  for (const auto& one : std::exchange(answers_.not_given, {})) {
    const auto file = one.lock();
    if (!file || !file->snapshot) continue;
    const auto given = moment_->files.find(file->fact.path);
    if (given == moment_->files.end() || given->second != file) file->object.clear();
  }
}

void MomentCommit::AnswerWithUploaded(MonoTime now) {
  ForgetNotGiven();
  Part part = PartOf(*moment_, config_.rank);
  const Part answer = AnswerOf(*moment_, now);
  part.rests = answer.rests;
  part.ended = answer.ended;
  part.wish = answer.wish;
  const Status status = answers_.for_good ? follower_->AnswerForGood(part)
                        : answers_.to     ? follower_->Answer(*answers_.to, part)
                                          : Status::Ok();
  if (!status.ok()) return Failed(status, now);
  DropCopies(*moment_);
  answers_.last = moment_;
  // Whoever was asked for this one is asked for none before it. A last word was not asked for.
  const auto given = std::find(waiting_.begin(), waiting_.end(), answers_.last);
  if (given != waiting_.end()) {
    waiting_.erase(answers_.to ? waiting_.begin() : given, std::next(given));
  }
  answers_.to.reset();
  const std::lock_guard lock(mutex_);
  phase_ = Phase::kIdle;
  finished_ = finished_ || answers_.for_good;
  answers_.for_good = false;
}

void MomentCommit::Follow(MonoTime now) {
  if (now < next_poll_) return;
  next_poll_ = now + Poll();
  auto committed = follower_->Committed();
  if (committed.ok() && committed->has_value()) NoteCommitted(**committed);
  auto round = follower_->Next();
  if (!round.ok()) return Failed(round.status(), now);
  back_off_ = {};
  if (round->has_value()) AnswerRound(**round);
  if (phase() != Phase::kIdle) return;
  if (capture_.nothing_left()) return EndFollowing();
  if (!waiting_.empty() && waiting_.back() != answers_.wished && !round->has_value()) {
    const Status status = Wish(waiting_.back());
    if (!status.ok()) return Failed(status, now);
  }
}

Status MomentCommit::Wish(const std::shared_ptr<Moment>& moment) {
  STOKER_TRY(follower_->Wish(AnswerOf(*moment, clock_.Mono()), clock_.Wall().ms));
  answers_.wished = moment;
  return Status::Ok();
}

void MomentCommit::AnswerRound(const Round& round) {
  // What is said of how it lies here now is of no look that was made before the round was there:
  // the store may have taken long to give it.
  const MonoTime now = clock_.Mono();
  if ((round.any || !capture_.ever_written()) && !capture_.Recheck(now)) return;
  if (!capture_.ever_written()) {
    if (WritesFirst(now)) return;
    Part none;
    none.none = true;
    const Status status = follower_->Answer(round, none);
    if (!status.ok()) Failed(status, clock_.Mono());
    return;
  }
  std::vector<std::shared_ptr<Moment>> mine = waiting_;
  if (answers_.last) mine.insert(mine.begin(), answers_.last);
  for (auto moment = mine.rbegin(); moment != mine.rend(); ++moment) {
    const Part part = AnswerOf(**moment, now);
    const bool own = round.wish != 0 && part.wish == round.wish;
    if (!own && !Matches(round, part)) continue;
    answers_.to = round;
    return StartUpload(*moment, round.seq);
  }
  // Its moment is still to come; where nothing tells, none will be it.
  const bool told = !round.any && IsTold(round.step, round.done);
  const auto ahead = [&](const Moment& newest) {
    const Part part = AnswerOf(newest, now);
    return !told || part.step > round.step || part.done > round.done ||
           !IsTold(part.step, part.done);
  };
  if (mine.empty() ? told : !ahead(*mine.back())) return;
  Part late;
  late.late = true;
  const Status status = follower_->Answer(round, late);
  if (!status.ok()) Failed(status, clock_.Mono());
}

// What it would be answered with, without its files: there may be very many.
Part MomentCommit::AnswerOf(const Moment& moment, MonoTime now) const {
  Part part;
  part.rank = config_.rank;
  part.done = moment.done;
  part.step = moment.counted ? moment.step : -1;
  part.rests = capture_.HasRested(moment, now);
  part.ended = capture_.ended_well() && capture_.StillForLong(moment, now);
  if (answers_.wished && answers_.wished.get() == &moment) part.wish = follower_->wish();
  return part;
}

// The last word of this node, which answers every later round. It is given once: what waits still
// is older, and answers for itself as long as this node is there.
void MomentCommit::EndFollowing() {
  if (Finished()) return;
  const std::shared_ptr<Moment> last = !waiting_.empty() ? waiting_.back() : answers_.last;
  if (last) {
    answers_.for_good = true;
    if (last != answers_.wished) (void)Wish(last);
    return StartUpload(last, follower_->free_seq());
  }
  Part none;
  none.none = !capture_.ever_written();
  none.late = capture_.ever_written();
  const Status status = follower_->AnswerForGood(none);
  if (!status.ok()) return Failed(status, clock_.Mono());
  const std::lock_guard lock(mutex_);
  finished_ = true;
}

}  // namespace stoker

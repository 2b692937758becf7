// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/keeper.h"

#include <algorithm>
#include <utility>

namespace stoker {

CheckpointKeeper::CheckpointKeeper(KeeperConfig config, ObjectStore& store, Clock& clock,
                                   CheckpointFiles& files)
    : clock_(clock),
      files_(files),
      began_from_(config.began_from),
      troubles_(config.say, config.quiet),
      capture_(config.job,
               {config.quiet, config.rank > 0, config.complete, config.names, config.num_nodes > 1},
               clock, files, troubles_,
               [this](std::shared_ptr<Moment> moment) { commit_.Add(std::move(moment)); }),
      commit_(std::move(config), store, clock, capture_, troubles_) {}

CheckpointKeeper::~CheckpointKeeper() = default;

Status CheckpointKeeper::Begin() {
  const MonoTime now = clock_.Mono();
  STOKER_ASSIGN(const DirectoryScan scan, capture_.FirstLook());
  STOKER_ASSIGN(StagedFiles restored, commit_.Begin(scan));
  capture_.Begin(scan, std::move(restored), now);
  if (!began_from_.checkpoint.empty()) capture_.Expect(FirstSave(began_from_, scan.files));
  next_step_ = now;
  return Status::Ok();
}

void CheckpointKeeper::Step() {
  const MonoTime begun = clock_.Mono();
  capture_.Observe(begun);
  capture_.Capture(begun);
  commit_.Advance(clock_.Mono());
  const MonoTime told = clock_.Mono();
  const bool something_new = capture_.pending() || commit_.busy() || commit_.waits();
  if (!capture_.ended() && troubles_.Waits(something_new, told)) {
    troubles_.Tell(WhyUnsaved(told), told);
  }
  const MonoTime now = clock_.Mono();
  next_step_ = std::max(commit_.NextStep(now, capture_.NextStep(now)), now);
  const bool pending = capture_.pending();
  const std::lock_guard lock(mutex_);
  written_ = {capture_.ever_written() || pending, pending, capture_.last_change(),
              capture_.longest_save()};
}

CheckpointPlan::Obstacle CheckpointKeeper::WhyUnsaved(MonoTime now) const {
  if (const std::string trouble = troubles_.now(); !trouble.empty()) return {"trouble", trouble};
  if (commit_.busy()) return {"upload", "its upload goes on"};
  return capture_.WhyNotTaken(now);
}

bool CheckpointKeeper::RunUpload() {
  if (!commit_.RunUpload()) return false;
  files_.Wake();
  return true;
}

bool CheckpointKeeper::UploadWaiting() const { return commit_.UploadWaiting(); }
void CheckpointKeeper::Hurry() { commit_.Hurry(); }

void CheckpointKeeper::ProgramEnded(const TaskExit& exit, bool signalled) {
  const bool well = exit.signal == 0 && exit.exit_code == 0;
  commit_.ProgramEnded(well && !signalled, signalled);
  capture_.ProgramEnded({well && !signalled, well && signalled, exit.signal == 0 && signalled});
  files_.Wake();
}

bool CheckpointKeeper::Finished() const { return commit_.Finished(); }
std::string CheckpointKeeper::newest() const { return commit_.newest(); }
int64_t CheckpointKeeper::commits() const { return commit_.commits(); }
std::string CheckpointKeeper::trouble() const { return troubles_.text(); }

CheckpointKeeper::Written CheckpointKeeper::written() const {
  const std::lock_guard lock(mutex_);
  return written_;
}

}  // namespace stoker

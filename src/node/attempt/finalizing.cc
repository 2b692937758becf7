// SPDX-License-Identifier: Apache-2.0
#include "node/attempt/finalizing.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "agent/save_patience.h"
#include "base/text.h"
#include "checkpoint/as_left.h"
#include "checkpoint/manifest.h"
#include "job/checkpoint_name.h"
#include "ledger/records.h"
#include "policy/drain.h"
#include "sys/file.h"

namespace stoker::node {
namespace {

// With no notice in sight the uploads may take their time; the machine is paid for either way.
constexpr Duration kFinalSyncWithin = Duration::Minutes(30);
// What is left beside a whole checkpoint is for who asks for it: nobody waits longer than this.
constexpr Duration kBesideWhole = Duration::Seconds(15);
// What the program ran with was asked beside it, but for one that ended at once.
constexpr Duration kFactsWithin = Duration::Seconds(10);
// An engine's books, which hold nothing that anybody needs.
constexpr Duration kForgetWithin = Duration::Seconds(20);

}  // namespace

Status Finalizing::Finalize(const FinalizeAttempt& action) {
  STOKER_TRY(here_.log.Open([this] { return staging_.cancelled(); }));
  running_.Join();
  const bool hooks = here_.config.spec.hooks != HooksSpec();
  if (here_.container && !hooks) here_.container->Release();  // nothing of the program lives
  here_.log.FlushMask();
  hooks_.Ended(action);  // beside what follows
  here_.log.Does("uploading");
  const Status synced = Sync(action);
  if (synced.ok()) hooks_.Settle(hurried_);
  // Lines last: what the uploads have to say is among them.
  if (!synced.ok()) SayNow(synced, action.deadline.has_value());
  if (synced.ok() || !hooks) ForgetContainer(action.deadline);  // hooks run in it
  if (!action.deadline && !hurried_) running_.FinishFacts(kFactsWithin);
  Duration within = Duration::Seconds(30);
  if (action.deadline) within = std::max(Duration::Ms(200), *action.deadline - here_.clock.Mono());
  if (hurried_) within = Duration::Ms(200);
  const Status shipped = here_.log.pump().ShipAll(within);
  if (synced.ok() && shipped.ok()) here_.log.Does("");
  return synced.ok() ? shipped : synced;
}

// After the uploads: an engine that hangs holds up none of them.
void Finalizing::ForgetContainer(const std::optional<MonoTime>& deadline) {
  if (!here_.container) return;
  Duration within = hurried_ ? Duration() : kForgetWithin;
  if (deadline) {  // the other half is for the last lines
    within = std::min(within, (*deadline - here_.clock.Mono()) / 2);
  }
  const Status gone = here_.container->Remove(within.ms);
  here_.container.reset();
  if (gone.ok()) return;
  here_.log.Say(
      "stoker: nothing runs in the container any more, but its engine may have it in its "
      "books: " +
      gone.ToString() +
      "; the next container on this machine removes it, or 'stoker gc' once the machine "
      "is gone");
}

Status Finalizing::Sync(const FinalizeAttempt& action) {
  Status taken_up;
  if (!staging_.begun() && !forerunners_kept_) {
    taken_up = keepers_.metrics().TakeUp();
    KeepForerunners();
  }
  if (keepers_.threads() == nullptr) return taken_up;
  const MonoTime now = here_.clock.Mono();
  const MonoTime deadline =
      action.deadline ? BeforeLastWords(*action.deadline, now) : now + kFinalSyncWithin;
  const Status checkpoint = LastCheckpoint(deadline).WithContext("the last checkpoint");
  const Status metrics = keepers_.metrics().Finish(deadline).WithContext("the last metrics");
  // Outputs of a run that failed or was taken are kept too: they say what happened.
  const Status outputs = keepers_.outputs()->Finish(deadline).WithContext("the last outputs");
  if (checkpoint.ok() && !hurried_) KeepWhatIsLeft(deadline);
  // What may not be read is not kept by another try either, and must not go with the folder.
  if (checkpoint.ok() && outputs.ok() && unsaved_.files == 0) MoveUnsavedAway(false);
  if (!checkpoint.ok()) return checkpoint;
  return outputs.ok() ? metrics : outputs;
}

// In pieces, as somebody may lose patience meanwhile.
Status Finalizing::LastCheckpoint(MonoTime deadline) {
  for (;;) {
    const MonoTime now = here_.clock.Mono();
    const Status done =
        keepers_.threads()->FinalSync(std::min(deadline, now + Duration::Seconds(1)));
    if (!done.Is(Code::kTimeout) || here_.clock.Mono() >= deadline || hurried_) return done;
  }
}

void Finalizing::GiveUp() {
  std::vector<std::string> lost;
  if (keepers_.keeper() != nullptr && !keepers_.keeper()->Finished()) {
    const std::string why = keepers_.keeper()->trouble();
    lost.push_back("what was saved last is in no checkpoint" + (why.empty() ? "" : ": " + why));
    here_.log.Say("stoker: " + lost.back());
  }
  {
    const std::lock_guard lock(mutex_);
    lost_ = lost;
  }
  if (keepers_.outputs() != nullptr) keepers_.outputs()->GiveUp();
  hurried_ = true;
  hooks_.Settle(hurried_);
  ForgetContainer(std::nullopt);
  MoveUnsavedAway(!lost.empty());
  here_.log.Say("stoker: gave up saving what is left");
  if (here_.log.is_open()) (void)here_.log.pump().ShipAll(Duration::Ms(200));
}

// The next attempt makes anew what is lost. After a cancel there is none, and nobody knows any more
// what of it is in the store.
void Finalizing::KeepForerunners() {
  forerunners_kept_ = true;
  const auto read = ReadJob(here_.ledger, here_.config.job.id);
  if (!read.ok() || !read->job.cancel || !sys::FileExists(here_.PlaceOfUnsaved().work)) return;
  Unsaved moved = MoveWork(here_.PlaceOfUnsaved());
  if (moved.in.empty())
    return here_.log.Say("stoker: what the program left could not be moved: " +
                         moved.status.ToString());
  here_.log.Say(
      "stoker: the agent died and was started again, and the job was cancelled: all that the "
      "program left lies in " +
      moved.in + "; 'stoker gc' removes it when it is 30 days old");
  const std::lock_guard lock(mutex_);
  unsaved_ = std::move(moved);
}

void Finalizing::MoveUnsavedAway(bool checkpoints) {
  std::vector<std::string> paths;
  if (keepers_.outputs() != nullptr) paths = keepers_.outputs()->unsaved();
  const std::string inside = here_.WorkDir() + "/";
  if (checkpoints && !StartsWith(here_.CheckpointDir(), inside)) {
    here_.log.Say("stoker: what was saved last lies in " + Printable(here_.CheckpointDir()));
  } else if (checkpoints) {
    paths.push_back(here_.CheckpointDir().substr(inside.size()));
  }
  if (paths.empty()) return;
  Unsaved moved = MoveUnsaved(here_.PlaceOfUnsaved(), paths);
  if (!moved.in.empty()) {
    here_.log.Say("stoker: what could not be kept lies in " + moved.in + " (" +
                  std::to_string(moved.files) + (moved.files == 1 ? " file, " : " files, ") +
                  HumanSize(moved.bytes) + "); 'stoker gc' removes it when it is 30 days old");
  }
  if (!moved.status.ok()) {
    here_.log.Say(
        "stoker: not all that could not be kept could be moved, and the rest goes with the "
        "machine: " +
        moved.status.ToString());
    moved.files = std::max(moved.files, static_cast<int64_t>(paths.size()));
  }
  const std::lock_guard lock(mutex_);
  unsaved_ = std::move(moved);
}

// By how much what was changed at `last` is newer than the checkpoint `newest`; 0 = not known.
Duration Finalizing::LeftNewer(const std::string& newest, MonoTime last) const {
  if (newest.empty()) return {};
  const CheckpointName name = SplitCheckpointName(newest);
  const auto manifest =
      LoadManifest(here_.store, name.job.empty() ? here_.config.job.id : name.job, name.name);
  if (!manifest.ok()) return {};
  WallTime saved;  // created: once it was uploaded, which may have taken long
  for (const auto& part : manifest->parts) {
    for (const ManifestFile& file : part.files)
      saved = std::max(saved, WallTime{file.mtime_ns / 1'000'000});
  }
  if (saved.ms == 0) saved = manifest->created;
  const WallTime changed = here_.clock.Wall() - (here_.clock.Mono() - last);
  return std::max(changed - saved, Duration{});
}

std::string Finalizing::HowToUse(const AsLeftKept& kept, bool any_whole) const {
  const std::string& job = here_.config.job.id;
  if (!kept.beside.empty()) {
    return ", for 'stoker get " + job + " " + kept.id + "' alone: " + kept.beside;
  }
  return any_whole ? ", for 'stoker run --from " + job + "/as-left'" : "";
}

// After whole checkpoints and outputs: nothing of them waits for it, and its failure is no reason
// to try any of it again.
void Finalizing::KeepWhatIsLeft(MonoTime deadline) {
  if (std::exchange(left_kept_, true)) return;
  keepers_.threads()->Stop();
  const CheckpointKeeper::Written written = keepers_.keeper()->written();
  if (!written.unkept && here_.config.job.num_nodes == 1) return;
  const std::string& restored = staging_.staged().restored;
  std::string newest = keepers_.keeper()->newest();
  if (newest.empty() && !IsAsLeft(restored)) newest = restored;
  const MonoTime until =
      newest.empty() ? deadline : std::min(deadline, here_.clock.Mono() + kBesideWhole);
  AsLeftConfig config;
  config.job = here_.config.job.id;
  config.attempt = here_.config.attempt;
  config.rank = here_.config.rank;
  config.num_nodes = here_.config.job.num_nodes;
  config.wrote = written.any;
  config.unkept = written.unkept;
  config.nonce = here_.ledger.Nonce();
  config.movers = here_.movers;
  config.may_commit = [this] { return keepers_.MayCommit(); };
  config.give_up = [this] { return hurried_.load(); };
  config.pause = [](Duration wait) {
    std::this_thread::sleep_for(std::chrono::milliseconds(wait.ms));
  };
  const auto kept = KeepAsLeft(config, here_.store, here_.clock, keepers_.files(), until);
  const std::string what = newest.empty()
                               ? "the program left no whole checkpoint, but files"
                               : "the program left files that are newer than checkpoint " + newest;
  if (!kept.ok()) {
    const std::string lost = what + ", and they could not be kept: " + kept.status().ToString();
    here_.log.Say("stoker: " + lost);
    {
      const std::lock_guard lock(mutex_);
      lost_.push_back(lost);
    }
    if (newest.empty()) MoveUnsavedAway(true);
  } else if (!kept->id.empty()) {
    const Duration newer = LeftNewer(newest, written.last);
    if (kept->beside.empty()) {
      const std::lock_guard lock(mutex_);
      left_newer_ = newer;
    }
    here_.log.Say("stoker: " + what + (newer.ms > 0 ? " by " + HumanDuration(newer) : "") +
                  ": kept as they are, as " + kept->id + " (" + std::to_string(kept->files) +
                  (kept->files == 1 ? " file, " : " files, ") + HumanSize(kept->bytes) + ")" +
                  HowToUse(*kept, !newest.empty()));
    for (const std::string& out : kept->left_out) here_.log.Say("stoker: left out of it: " + out);
  }
}

// A trouble that lasts is said once.
void Finalizing::SayNow(const Status& trouble, bool taken) {
  const std::string text = trouble.ToString();
  if (text == said_) return;
  said_ = text;
  here_.log.Say("stoker: " + text + "; trying again" +
                (taken ? " until the machine is taken"
                       : " until nothing has got through for " + FormatDuration(kKeepTrying) +
                             ", or for " + FormatDuration(kSaveAfterCancel) + " after a cancel"));
}

std::vector<std::string> Finalizing::lost() const {
  const std::lock_guard lock(mutex_);
  return lost_;
}

void Finalizing::Complete(NodeReport& report) const {
  const std::lock_guard lock(mutex_);
  if (left_newer_.ms > 0) report.left_newer_ms = left_newer_.ms;  // else a forerunner's stands
  if (unsaved_.files == 0) return;
  report.unkept = unsaved_.files;
  report.unkept_in = unsaved_.in;
}

}  // namespace stoker::node

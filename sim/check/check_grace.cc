// SPDX-License-Identifier: Apache-2.0
// What a program is promised when it is told to end, and what becomes of what it saves then.
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "checkpoint/as_left.h"
#include "checkpoint/manifest.h"
#include "ledger/paths.h"
#include "sim/check/checks.h"
#include "sim/node/program.h"

namespace stoker::sim {
namespace {

constexpr int64_t kToWhoDoesIt = 1'500;  // from what is due to who does it

// grace: who is told to end has the time that the log names (docs/checkpoints.md, "When the machine
// is taken"): SIGTERM comes when there is time for a save, and nothing kills before that is over.
class Grace : public Observer {
 public:
  explicit Grace(World& world) : world_(world) {}

  void OnToldToEnd(const ProgramView& view, const ToldToEnd& told) override {
    told_at_.try_emplace({view.job, view.attempt, view.rank}, world_.now());
    if (!told.until || told.stood_still || Odd()) return;
    const int64_t lead = told.lead_ms;
    const int64_t spawn = world_.PlanOf(view.job)->program.spawn_ms;
    if (!told.saving.at_sigterm || told.saving.ended_unsaved) return;
    // At the latest when half of the notice, or a save and its upload, are left.
    const int64_t save = told.saving.longest ? told.saving.longest->ms + 5'000 : 15'000;
    const int64_t sent = told.saving.upload ? told.saving.upload->ms : 10'000;
    const int64_t upload = std::min(lead / 6, std::max<int64_t>(2'000, sent));
    const int64_t due = *told.until - std::min(lead / 2, save + upload);
    if (world_.now() <= due + kToWhoDoesIt + spawn) return;
    Breach(view, "is told to end " + std::to_string(*told.until - world_.now()) +
                     " ms before its machine is taken, of " + std::to_string(*told.until - due));
  }

  void OnKilled(const ProgramView& view, const ToldToEnd& told) override {
    const auto at = told_at_.find({view.job, view.attempt, view.rank});
    if (at == told_at_.end() || Odd()) return;
    const JobPlan& plan = *world_.PlanOf(view.job);
    int64_t from = at->second + plan.stop_grace.ms - plan.program.spawn_ms;
    if (told.kill_from) from = std::min(from, *told.kill_from);
    if (world_.now() >= from - kRounded) return;
    Breach(view, "is killed " + std::to_string(world_.now() - at->second) +
                     " ms after it was told to end, " + std::to_string(from - world_.now()) +
                     " ms too soon");
  }

 private:
  static constexpr int64_t kRounded = 10;
  using Key = std::tuple<std::string, int, int>;

  // A machine whose clock is set counts the time that is left by it.
  bool Odd() const { return world_.strikes().contains("step-clock"); }
  void Breach(const ProgramView& view, const std::string& what) {
    world_.Breach("grace",
                  "node " + std::to_string(view.rank) + " of attempt " +
                      std::to_string(view.attempt) + " " + what,
                  view.job);
  }

  World& world_;
  std::map<Key, int64_t> told_at_;
};

// saved-at-end: what a program has saved because it was told to end is committed, where there was
// time for it and the store answered. Of one node: several save each its own step.
class SavedAtEnd : public Observer {
 public:
  explicit SavedAtEnd(World& world) : world_(world) {}

  void OnSavedAtEnd(const ProgramView& view, const ToldToEnd& told) override {
    const JobPlan& plan = *world_.PlanOf(view.job);
    if (!Answers() || plan.nodes > 1 || plan.program.on_term != OnTerm::kSavesAndSucceeds) return;
    // Which files are saved together is known from the third save on.
    const bool known =
        plan.program.style != WriteStyle::kTwoFiles || commits_[{view.job, view.attempt}] >= 3;
    if (!known) return;
    const int64_t enough = kEnough + world_.plan().skew_ms;
    if (told.until && *told.until - world_.now() < enough) return;
    const auto newest = newest_.find(view.job);
    if (newest == newest_.end() || newest->second < view.step)
      due_[{view.job, view.attempt}] = view.step;
  }

  void OnChange(const BucketChange& change) override {
    if (!change.after || change.after->empty()) return;
    const int left = AttemptOfAsLeftKey(change.key);
    if ((left == 0 && !IdOfManifestKey(change.key)) || !Answers()) return;
    const auto manifest = DecodeManifest(*change.after);
    if (!manifest.ok()) return;
    // The very first save, of a format that proves nothing, is kept as it was left: it is what
    // there is.
    if (left > 0 && newest_.contains(manifest->job)) return;
    std::map<std::string, std::string> files;
    for (const ManifestFile& file : UnionFor(*manifest, 0)) {
      const auto* object = world_.bucket().Find(paths::Checkpoints(manifest->job) + file.object);
      if (object != nullptr) files[file.path] = *object->data;
    }
    const WriteStyle style = world_.PlanOf(manifest->job)->program.style;
    const int step = StepInFiles(files, style).step;
    if (left == 0) ++commits_[{manifest->job, manifest->id.attempt}];
    if (left == 0) newest_[manifest->job] = std::max(newest_[manifest->job], step);
    const auto due = due_.find({manifest->job, manifest->id.attempt});
    if (due != due_.end() && due->second <= step) due_.erase(due);
  }

  void OnRecord(const Job&, const Job& after, const std::string&) override {
    for (const Attempt& attempt : after.attempts) {
      const auto due = due_.find({after.id, attempt.number});
      if (attempt.state != AttemptState::kEnded || due == due_.end()) continue;
      world_.Breach("saved-at-end",
                    "attempt " + std::to_string(attempt.number) + " has ended, and step " +
                        std::to_string(due->second) +
                        ", which its program saved when it was told to end, is in no checkpoint",
                    after.id);
    }
  }

 private:
  static constexpr int64_t kEnough = 3'000;  // for a few requests that take some 60 ms each

  // Nothing fails but machines that are taken with a notice.
  bool Answers() const {
    const Plan& plan = world_.plan();
    const BucketFaults& bucket = plan.bucket;
    const bool noise = bucket.before > 0 || bucket.after > 0 || bucket.late > 0 ||
                       bucket.throttled > 0 || bucket.slow > 0 || bucket.torn > 0;
    return !noise && std::all_of(plan.faults.begin(), plan.faults.end(), [](const FaultPlan& one) {
      return one.kind == "notice" || one.kind == "storm" || one.kind == "withdraw";
    });
  }

  World& world_;
  std::map<std::pair<std::string, int>, int> due_;  // steps, by job and attempt
  std::map<std::pair<std::string, int>, int> commits_;
  std::map<std::string, int> newest_;  // that is committed, by job
};

}  // namespace

void AddGraceChecks(World& world, Checks* checks) {
  checks->push_back(std::make_unique<Grace>(world));
  checks->push_back(std::make_unique<SavedAtEnd>(world));
}

}  // namespace stoker::sim

// SPDX-License-Identifier: Apache-2.0
// What is committed, what is restored, and what the program finds.
#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "base/text.h"
#include "job/digest.h"
#include "ledger/paths.h"
#include "sim/checks.h"
#include "sim/program.h"
#include "sync/manifest.h"

namespace stoker::sim {
namespace {

// Of a manifest's key, "jobs/<job>/checkpoints/<manifests>/<id>.json".
struct Named {
  std::string job;
  CheckpointId id;
};
std::optional<Named> ManifestOf(const std::string& key) {
  if (!StartsWith(key, "jobs/")) return std::nullopt;
  const std::string job = key.substr(5, key.find('/', 5) - 5);
  const auto id = IdOfManifestKey(key);
  if (!id || ManifestKey(job, *id) != key) return std::nullopt;
  return Named{job, *id};
}

// whole-checkpoint: what a manifest names is there, is what it says, and is of one moment; from the
// instant that the manifest is, on every node. Who restores it has that moment.
class WholeCheckpoint : public Observer {
 public:
  explicit WholeCheckpoint(World& world) : world_(world) {}

  void OnChange(const BucketChange& change) override {
    // An empty one only takes the number.
    if (!change.after || change.after->empty() || !ManifestOf(change.key)) return;
    const auto manifest = DecodeManifest(*change.after);
    if (!manifest.ok()) {
      return world_.Breach("whole-checkpoint", change.key + ": " + manifest.status().ToString());
    }
    if (change.before) {
      world_.Breach("whole-checkpoint", change.key + " was written twice", manifest->job);
    }
    std::map<int, int> steps;
    for (const Part& part : manifest->parts) Look(*manifest, part.rank, &steps);
    for (const auto& [rank, step] : steps) {
      if (step == steps.begin()->second) continue;
      world_.Breach("whole-checkpoint",
                    manifest->id.ToString() + " has step " + std::to_string(steps.begin()->second) +
                        " of one node and " + std::to_string(step) + " of another",
                    manifest->job);
    }
    if (!steps.empty()) steps_[manifest->job + "/" + manifest->id.ToString()] = steps[0];
  }

  void OnProgramStarts(const ProgramView& view) override {
    const Job& job = world_.jobs().at(view.job);
    const Attempt* attempt = FindAttempt(job, view.attempt);
    if (attempt == nullptr) return;
    int expected = 0;
    if (!attempt->restore.empty()) {
      const bool others = attempt->restore.find('/') != std::string::npos;
      const auto found = steps_.find((others ? "" : view.job + "/") + attempt->restore);
      if (found == steps_.end()) return;  // committed over damaged data
      expected = found->second;
    }
    if (view.step == expected) return;
    world_.Breach("whole-checkpoint",
                  "node " + std::to_string(view.rank) + " of attempt " +
                      std::to_string(view.attempt) + " begins after step " +
                      std::to_string(view.step) + ", but '" + attempt->restore + "' has " +
                      std::to_string(expected),
                  view.job);
  }

 private:
  void Look(const Manifest& manifest, int rank, std::map<int, int>* steps) {
    std::map<std::string, std::string> files;
    for (const ManifestFile& file : UnionFor(manifest, rank)) {
      if (file.kind != FileKind::kFile) continue;
      const auto* object = world_.bucket().Find(paths::Checkpoints(manifest.job) + file.object);
      const std::string name = manifest.id.ToString() + "'s " + file.path;
      if (object == nullptr) {
        return world_.Breach("whole-checkpoint", name + " is not in the store", manifest.job);
      }
      if (object->info.size != file.size || Sha256Hex(*object->data) != file.sha256) {
        // A checkpoint that names what a fault has damaged since is not its writer's doing.
        if (world_.Happened("rotten " + paths::Checkpoints(manifest.job) + file.object)) return;
        return world_.Breach("whole-checkpoint", name + " is not what the manifest says",
                             manifest.job);
      }
      files[file.path] = *object->data;
    }
    const FilesHold hold = StepInFiles(files, world_.PlanOf(manifest.job)->program.style);
    if (hold.step < 0) {
      world_.Breach("whole-checkpoint",
                    manifest.id.ToString() + " for node " + std::to_string(rank) + ": " + hold.why,
                    manifest.job);
    }
    (*steps)[rank] = hold.step;
  }

  World& world_;
  std::map<std::string, int> steps_;  // by job and checkpoint
};

// no-fork and newest: an attempt begins from the newest checkpoint that is committed at that moment
// and not suspect; nothing is added behind it; its programs resume exactly there.
class Newest : public Observer {
 public:
  explicit Newest(World& world) : world_(world) {}

  void OnChange(const BucketChange& change) override {
    const auto named = ManifestOf(change.key);
    if (!named) return;
    if (!change.after || change.after->empty()) {
      committed_[named->job].erase(named->id);
      return;
    }
    committed_[named->job].insert(named->id);
    CheckLate(named->job, named->id);
  }

  void OnRecord(const Job& before, const Job& after, const std::string&) override {
    for (const Attempt& now : after.attempts) {
      const Attempt* old = FindAttempt(before, now.number);
      const bool was_begun = old != nullptr && old->state != AttemptState::kProvisioning;
      const bool begun = now.state != AttemptState::kProvisioning;
      if (begun && !was_begun && now.state != AttemptState::kEnded) CheckRestore(now, after);
    }
  }

  void OnRestored(const ProgramView& view, const std::string& checkpoint) override {
    const auto job = world_.jobs().find(view.job);
    const Attempt* attempt = FindAttempt(job->second, view.attempt);
    if (attempt == nullptr || attempt->restore != checkpoint) {
      world_.Breach("newest", "a node restored " + checkpoint + ", which its attempt does not name",
                    view.job);
    }
  }

  void OnProgramStarts(const ProgramView& view) override {
    const auto [first, is_first] = resumed_.try_emplace({view.job, view.attempt}, view.step);
    if (!is_first && first->second != view.step) {
      world_.Breach("whole-checkpoint",
                    "the nodes of attempt " + std::to_string(view.attempt) +
                        " resume after steps " + std::to_string(first->second) + " and " +
                        std::to_string(view.step),
                    view.job);
    }
  }

 private:
  // The checkpoint that whoever reads the store now would take.
  std::string NewestOf(const std::string& job, const Job& record, const std::string& prefix) const {
    const auto found = committed_.find(job);
    if (found == committed_.end()) return "";
    for (auto id = found->second.rbegin(); id != found->second.rend(); ++id) {
      const std::string name = prefix + id->ToString();
      const auto& suspects = record.suspects;
      if (std::find(suspects.begin(), suspects.end(), name) == suspects.end()) return name;
    }
    return "";
  }

  void CheckRestore(const Attempt& attempt, const Job& job) {
    std::string expected = NewestOf(job.id, job, "");
    std::string of = job.id;
    const auto own = committed_.find(job.id);
    if (!job.retry_of.empty() && (own == committed_.end() || own->second.empty())) {
      expected = NewestOf(job.retry_of, job, job.retry_of + "/");
      of = job.retry_of;
    }
    if (attempt.restore == expected || world_.Happened("rotten " + of)) return;
    world_.Breach("newest",
                  "attempt " + std::to_string(attempt.number) + " begins from '" + attempt.restore +
                      "', but '" + expected + "' is committed",
                  job.id);
  }

  void CheckLate(const std::string& job, const CheckpointId& id) {
    const auto record = world_.jobs().find(job);
    if (record == world_.jobs().end()) return;
    for (const Attempt& attempt : record->second.attempts) {
      if (attempt.number <= id.attempt || attempt.state == AttemptState::kProvisioning ||
          attempt.state == AttemptState::kEnded) {
        continue;
      }
      world_.Breach("no-fork",
                    "checkpoint " + id.ToString() + " comes after attempt " +
                        std::to_string(attempt.number) + " has chosen where to begin",
                    job);
    }
  }

  World& world_;
  std::map<std::string, std::set<CheckpointId>> committed_;
  std::map<std::pair<std::string, int>, int> resumed_;
};

}  // namespace

void AddCheckpointChecks(World& world, Checks* checks) {
  checks->push_back(std::make_unique<WholeCheckpoint>(world));
  checks->push_back(std::make_unique<Newest>(world));
}

}  // namespace stoker::sim

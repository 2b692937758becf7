// SPDX-License-Identifier: Apache-2.0
// What is committed, what is restored, and what the program finds.
#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "base/digest.h"
#include "base/text.h"
#include "checkpoint/as_left.h"
#include "checkpoint/manifest.h"
#include "job/checkpoint_name.h"
#include "ledger/paths.h"
#include "sim/check/checks.h"
#include "sim/node/program.h"

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

std::string JobOf(const std::string& key) {
  return StartsWith(key, "jobs/") ? key.substr(5, key.find('/', 5) - 5) : "";
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
    if (IsAsLeft(attempt->restore)) return;  // nobody says of which step it is
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
    if (const int attempt = AttemptOfAsLeftKey(change.key)) {
      const std::string job = JobOf(change.key);
      left_[job].erase(attempt);
      if (change.after && !change.after->empty()) left_[job].insert(attempt);
    }
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
  static bool Has(const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  }
  static std::string NameOf(const Job& job, const Job& of, const std::string& id) {
    return of.id == job.id ? id : of.id + "/" + id;
  }

  // The job and those that it retries, as far as their records are there.
  std::vector<const Job*> Row(const Job& job) const {
    std::vector<const Job*> row = {&job};
    while (!row.back()->retry_of.empty()) {
      const auto found = world_.jobs().find(row.back()->retry_of);
      if (found == world_.jobs().end() || found->second.id == job.id) break;
      row.push_back(&found->second);
    }
    return row;
  }

  // What whoever reads the store now would take: the newest whole one that is not suspect of the
  // job or of the nearest that it retries; then one that only those found suspect; what was left
  // only where there is no whole one at all.
  std::string Expected(const Job& job, const std::vector<const Job*>& row) const {
    std::set<std::string> theirs;
    for (size_t i = 1; i < row.size(); ++i) {
      for (const std::string& id : row[i]->suspects) {
        theirs.insert(id.find('/') == std::string::npos ? row[i]->id + "/" + id : id);
      }
    }
    std::vector<std::string> offers;
    for (const Job* of : row) {
      const auto found = committed_.find(of->id);
      if (found == committed_.end()) continue;
      for (auto id = found->second.rbegin(); id != found->second.rend(); ++id) {
        offers.push_back(NameOf(job, *of, id->ToString()));
      }
    }
    if (offers.empty()) {
      for (const Job* of : row) {
        const auto found = left_.find(of->id);
        if (found == left_.end()) continue;
        for (auto attempt = found->second.rbegin(); attempt != found->second.rend(); ++attempt) {
          offers.push_back(NameOf(job, *of, AsLeftName(*attempt)));
        }
      }
    }
    std::erase_if(offers, [&](const std::string& name) { return Has(job.suspects, name); });
    for (const std::string& name : offers) {
      if (theirs.count(name) == 0) return name;
    }
    return offers.empty() ? "" : offers.front();
  }

  void CheckRestore(const Attempt& attempt, const Job& job) {
    const std::vector<const Job*> row = Row(job);
    bool rotten = false;
    for (const Job* of : row) {
      rotten |= world_.Happened("rotten " + of->id);
      const auto found = committed_.find(of->id);
      const bool whole = found != committed_.end() && !found->second.empty();
      if (!IsAsLeft(attempt.restore) || !whole || rotten) continue;
      world_.Breach("as-left-last",
                    "attempt " + std::to_string(attempt.number) + " begins from " +
                        attempt.restore + ", although " + of->id + " has a whole checkpoint",
                    job.id);
    }
    const std::string expected = Expected(job, row);
    if (attempt.restore == expected || rotten) return;
    // Of a record that cannot be read nobody knows which were suspect.
    const bool unread = std::any_of(row.begin() + 1, row.end(), [&](const Job* of) {
      return world_.Happened("damaged " + of->id);
    });
    if (unread && !attempt.restore.empty()) return;
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
  std::map<std::string, std::set<int>> left_;  // attempts of which it is kept, by job
  std::map<std::pair<std::string, int>, int> resumed_;
};

}  // namespace

void AddCheckpointChecks(World& world, Checks* checks) {
  checks->push_back(std::make_unique<WholeCheckpoint>(world));
  checks->push_back(std::make_unique<Newest>(world));
}

}  // namespace stoker::sim

// SPDX-License-Identifier: Apache-2.0
// Of CheckpointPlan: saves that the program tells of itself.
#include <algorithm>
#include <iterator>
#include <utility>

#include "base/text.h"
#include "checkpoint/rule/checkpoint_plan.h"

namespace stoker {

void CheckpointPlan::OnTold(const std::vector<std::string>& lines) {
  // Those that were read before the scan; with the begins that have come since, so that what is
  // written anew is not taken for them.
  for (ToldSaves::Save& told : told_.TakeEnded()) told_ended_.push_back(std::move(told));
  for (ToldSaves::Save& told : told_.TakeFailed()) told_failed_.push_back(std::move(told));
  for (const std::string& line : lines) told_.OnLine(line);
  if (!seen_.awaits_hints() || ended_) NoteTold();
}

const ToldSaves::Save* CheckpointPlan::BegunAs(const SaveUnit& unit) const {
  for (const std::string& path : unit.files) {
    if (const ToldSaves::Save* save = told_.Open(path)) return save;
  }
  return nullptr;
}

// It has ended, by the program's word, and is about to count together with what it was told with.
bool CheckpointPlan::IsTold(const SaveUnit& unit) const {
  if (ended_ && clean_) return false;
  return std::any_of(told_saved_.begin(), told_saved_.end(), [&](const SavedSet& saved) {
    return saved.units.count(unit.id) != 0 &&
           std::any_of(unit.files.begin(), unit.files.end(), [&](const std::string& path) {
             const auto one = saved.versions.find(path);
             return one != saved.versions.end() && one->second == FileAt(path).version;
           });
  });
}

UnitVerdict CheckpointPlan::JudgeUnit(const SaveUnit& unit, MonoTime now) const {
  UnitVerdict verdict = JudgeFiles(unit, now);
  const bool settled = verdict.closed() || verdict.standing == UnitVerdict::Standing::kUnmarked;
  if (settled && Changed(unit) && (BegunAs(unit) != nullptr || IsTold(unit))) {
    verdict = {.standing = UnitVerdict::Standing::kWriting};
  }
  return verdict;
}

// Nothing, where the program has begun to write something of it again: that is not it any more.
SavedSet CheckpointPlan::SaveOfTold(const ToldSaves::Save& told) const {
  SavedSet saved;
  saved.reason = CandidateReason::kTold;
  for (const auto& [id, unit] : units_.by_id) {
    const bool covered = std::any_of(unit.files.begin(), unit.files.end(),
                                     [&](const auto& path) { return told.Covers(path); });
    if (!covered || !Changed(unit)) continue;
    if (const ToldSaves::Save* other = BegunAs(unit)) {
      if (other->begun > told.ended) return {};
      continue;  // others write into it, too: it counts when the last of them has ended
    }
    saved.units.insert(id);
    saved.lines.insert(unit.line);
    for (const std::string& path : unit.files) saved.versions[path] = FileAt(path).version;
  }
  return saved;
}

// Its writer did not finish it: only its own format may show that it is whole.
void CheckpointPlan::Doubt(const ToldSaves::Save& told) {
  for (const auto& [path, id] : units_.id_of) {
    SeenFile* file = seen_.Find(path);
    if (!told.Covers(path) || file == nullptr || file->version == file->counted) continue;
    if (told_.Open(path) != nullptr) continue;  // it is being written anew
    file->doubtful = true;
    shelf_.erase(path);
  }
}

void CheckpointPlan::NoteEnded(const ToldSaves::Save& told) {
  for (const std::string& path : told.paths) {
    const bool there = std::any_of(units_.id_of.begin(), units_.id_of.end(), [&](const auto& of) {
      return ToldSaves::Save{told.id, {path}}.Covers(of.first);
    });
    if (there || path.empty() || seen_.files().count(path) != 0) continue;
    told_.Remark("save " + Printable(told.id) + " has ended, and there is no '" + Printable(path) +
                 "'");
  }
  SavedSet saved = SaveOfTold(told);
  if (saved.versions.empty()) return;
  // It takes the place of those of the same files, which cannot be had any more or are the same.
  std::erase_if(told_saved_, [&](const SavedSet& older) {
    return std::all_of(older.versions.begin(), older.versions.end(),
                       [&](const auto& one) { return saved.versions.count(one.first) != 0; });
  });
  told_saved_.push_back(std::move(saved));
}

// As the newest scan has it, which was made after the lines were read.
void CheckpointPlan::NoteTold() {
  for (const ToldSaves::Save& told : std::exchange(told_failed_, {})) Doubt(told);
  for (const ToldSaves::Save& told : std::exchange(told_ended_, {})) NoteEnded(told);
}

std::optional<Candidate> CheckpointPlan::DecideTold(MonoTime now) {
  for (auto it = told_saved_.begin(); it != told_saved_.end();) {
    const Serving serving = Serve(*it, now);
    auto candidate = serving == Serving::kReady ? Make(*it, now) : std::nullopt;
    if (candidate) return candidate;
    it = serving == Serving::kWaits ? std::next(it) : told_saved_.erase(it);
  }
  return std::nullopt;
}

}  // namespace stoker

// SPDX-License-Identifier: Apache-2.0
// What CheckpointPlan learns. The decisions are in checkpoint_decide.cc.
#include "checkpoint/rule/checkpoint_plan.h"

#include <algorithm>

#include "base/text.h"
#include "checkpoint/rule/episode.h"
#include "checkpoint/rule/pointer_check.h"

namespace stoker {
namespace {

// How long a write that nobody heard is waited for before it goes without a place.
constexpr Duration kOrderShows = Duration::Ms(300);
// The largest file that may be a pointer with a list in it (Ray's snapshot).
constexpr int64_t kMostText = 1 << 20;

bool IsUserMark(const std::string& path) {
  return EndsWith(path, std::string("/") + kCompleteMark);
}

}  // namespace

CheckpointPlan::CheckpointPlan(PlanOptions options)
    : options_(std::move(options)),
      seen_(options_.quiet),
      sets_(options_.quiet, options_.complete),
      told_(options_.names),
      said_unproven_(options_.several) {}

// A write that nobody heard has its place once a look finds it closed with no hint on its way.
bool CheckpointPlan::OrderWillShow(MonoTime now) const {
  const auto& writes = seen_.writes();
  if (ended_) return false;
  return seen_.awaits_hints() ||
         std::any_of(writes.begin(), writes.end(), [&](const SeenWrite& write) {
           return write.found && !write.placed && now - write.at < kOrderShows;
         });
}

// Names of files and the order of their writes, as of now.
void CheckpointPlan::Evaluate(MonoTime now) {
  if (OrderWillShow(now)) return;
  std::vector<SeenWrite> writes = seen_.TakeWrites();
  std::move(writes.begin(), writes.end(), std::back_inserter(writes_));
  if (seen_.TakeRenaming()) {
    for (const auto& [path, file] : seen_.files()) {
      if (!IsUserMark(path)) continue;
      const std::string folder = path.substr(0, path.rfind('/'));
      const auto unit = units_.by_id.find(folder);
      if (unit != units_.by_id.end()) sets_.KnowMarked(unit->second.line);
    }
    units_ = UnitsOf(seen_, sets_.rows());
    if (sets_.KnowTrees(units_)) units_ = UnitsOf(seen_, sets_.rows());
    if (sets_.KnowRotation(units_)) {
      units_ = UnitsOf(seen_, sets_.rows());
      RowsChanged();
    }
    for (const auto& [id, unit] : units_.by_id) {
      if (seen_.files().count(id + "/" + kCompleteMark) != 0) sets_.KnowMarked(unit.line);
    }
  }
  if (seen_.TakeLost()) sets_.ForgetOrder();
  while (sets_.Follow(&writes_, units_, seen_)) {
    units_ = UnitsOf(seen_, sets_.rows());
    RowsChanged();
  }
}

// What counted as a member of a row that is none counted as a save, and was a part of one.
void CheckpointPlan::RowsChanged() {
  for (auto it = base_.begin(); it != base_.end();) {
    if (sets_.rows().none.count(it->second.line) == 0) {
      const auto id = units_.id_of.find(it->first);
      if (id != units_.id_of.end()) it->second.line = units_.by_id.at(id->second).line;
      ++it;
      continue;
    }
    if (SeenFile* file = seen_.Find(it->first)) file->counted = 0;
    it = base_.erase(it);
  }
}

void CheckpointPlan::OnEvents(const std::vector<FileEvent>& events) {
  std::vector<FileEvent> others;
  for (const FileEvent& event : events) {
    if (event.path == kDoneMark) {
      done_mark_ = event.kind != FileEvent::Kind::kGone;
    } else {
      others.push_back(event);
    }
  }
  if (others.empty()) return;
  refused_.clear();
  seen_.OnEvents(others);
}

void CheckpointPlan::OnScan(const DirectoryScan& scan, MonoTime now,
                            const std::vector<FileEvent>& later) {
  const auto is_mark = [](const FileFact& fact) { return fact.path == kDoneMark; };
  done_mark_ = std::any_of(scan.files.begin(), scan.files.end(), is_mark);
  const MonoTime before = seen_.last_change();
  if (done_mark_) {
    DirectoryScan rest = scan;
    std::erase_if(rest.files, is_mark);
    seen_.OnScan(rest, now, later);
  } else {
    seen_.OnScan(scan, now, later);
  }
  if (seen_.last_change() != before) refused_.clear();
  Evaluate(now);
  for (const auto& [path, place] : base_) {
    if (units_.by_id.count(place.unit) != 0) {
      gone_since_.erase(place.unit);
    } else {
      gone_since_.emplace(place.unit, now);
    }
  }
}

void CheckpointPlan::OnRestored(const DirectoryScan& scan, const std::set<std::string>& known) {
  DirectoryScan rest = scan;
  std::erase_if(rest.files, [](const FileFact& fact) { return fact.path == kDoneMark; });
  seen_.OnRestored(rest);
  Evaluate(MonoTime{INT64_MAX / 2});
  sets_.OnRestored(units_, seen_);
  said_unproven_ = said_unproven_ || !units_.by_id.empty();
  for (const auto& [path, id] : units_.id_of) {
    if (known.count(path) == 0) {
      seen_.Find(path)->copied = 0;
      continue;
    }
    const uint64_t version = FileAt(path).version;
    base_[path] = {id, units_.by_id.at(id).line, version};
    shelf_[path] = version;
  }
  // What was restored keeps its times: a mark that is not older than the rest was one.
  for (const auto& [id, unit] : units_.by_id) {
    if (unit.layout == nullptr || unit.layout->last.empty()) continue;
    int64_t mark = -1;
    int64_t newest = 0;
    for (const std::string& path : unit.files) {
      const auto& fact = FileAt(path).fact;
      if (!fact) continue;
      const bool last = MatchesAny(unit.layout->last, unit.Inside(path));
      (last ? mark : newest) = std::max(last ? mark : newest, fact->mtime_ns);
    }
    if (mark >= newest) marked_units_.insert(id);
  }
}

void CheckpointPlan::OnEnded(const Ended& how, MonoTime now) {
  ended_ = true;
  clean_ = how.clean;
  graceful_ = how.graceful;
  obeyed_ = how.obeyed;
  ended_at_ = now;
  seen_.OnEnded(clean_, now);
  Evaluate(now);
  OnTold({});  // nothing is written any more: what has just ended is as it lies there
  for (const ToldSaves::Save& left : told_.TakeOpen()) {
    if (!clean_) Doubt(left);
  }
}

void CheckpointPlan::OnCopied(const CopyOrder& order, const std::map<std::string, Proof>& proofs,
                              const std::set<std::string>& live) {
  for (const FileFact& fact : order.copy) {
    SeenFile* file = seen_.Find(fact.path);
    if (file == nullptr) continue;
    file->copied = file->version;
    const auto proof = proofs.find(fact.path);
    if (proof != proofs.end()) file->proof = proof->second;
    const bool cut = file->doubtful || (file->fate == Fate::kKilled && !(obeyed_ && file->renamed));
    if (file->proof == Proof::kBroken || (cut && !clean_ && file->proof != Proof::kWhole)) {
      shelf_.erase(fact.path);
    } else {
      shelf_[fact.path] = file->version;
    }
    if (live.count(fact.path) != 0) {
      live_.insert(fact.path);
    } else {
      live_.erase(fact.path);
    }
  }
}

std::optional<FileFact> CheckpointPlan::WantsText() const {
  for (const auto& [path, file] : seen_.files()) {
    if (file.open || file.text || !file.written() || !file.fact ||
        file.fact->kind != FileKind::kFile || file.fact->size > kMostText) {
      continue;
    }
    const std::string name = path.substr(path.rfind('/') + 1);
    for (const Layout& layout : Layouts()) {
      if (layout.end != SaveEnd::kNamed || !MatchesName(layout.pointer, name)) continue;
      return file.fact;
    }
  }
  return std::nullopt;
}

void CheckpointPlan::OnText(const std::string& path, std::string text) {
  if (SeenFile* file = seen_.Find(path)) file->text = std::move(text);
}

void CheckpointPlan::OnCounted(const Candidate& candidate) {
  std::map<std::string, Place> base;
  for (const std::string& path : candidate.kept) base[path] = base_.at(path);
  for (const std::string& path : candidate.fresh) {
    const auto id = units_.id_of.find(path);
    Place& place = base[path];
    if (id != units_.id_of.end()) {
      place = {id->second, units_.by_id.at(id->second).line};
    } else if (const auto before = base_.find(path); before != base_.end()) {
      place = before->second;
    } else {
      place = {path, path};
    }
    place.version = shelf_[path];
    SeenFile* file = seen_.Find(path);
    if (file != nullptr && file->version == shelf_[path]) file->counted = file->version;
  }
  base_ = std::move(base);
  for (const auto& [id, unit] : units_.by_id) {
    const SaveLine* line = sets_.Find(unit.line);
    if (line != nullptr && line->unit == id && !Changed(unit)) sets_.Counted(unit.line);
  }
  refused_.clear();
  marked_units_.insert(candidate.marked.begin(), candidate.marked.end());
  const auto is_in = [&](const SavedSet& saved) {
    return std::all_of(saved.versions.begin(), saved.versions.end(), [&](const auto& one) {
      return candidate.fresh.count(one.first) != 0 && shelf_[one.first] == one.second;
    });
  };
  std::erase_if(sets_.saved(), [&](const auto& entry) { return is_in(entry.second); });
  std::erase_if(told_saved_, is_in);
  if (sets_.saved().empty() && told_saved_.empty()) {
    std::erase_if(shelf_, [&](const auto& entry) {
      return base_.count(entry.first) == 0 && seen_.files().count(entry.first) == 0;
    });
  }
  if (candidate.reason != CandidateReason::kDone) return;
  ++done_used_;
  done_mark_ = false;
  done_.reset();
  // What stays open or mapped is written on without any further sign.
  seen_.WritesGoOn();
}

void CheckpointPlan::OnRefused(const Candidate& candidate) {
  refused_.clear();
  for (const std::string& path : candidate.fresh) refused_[path] = shelf_[path];
  sets_.saved().clear();
  told_saved_.clear();
  if (candidate.reason == CandidateReason::kDone) {
    done_mark_ = false;
    done_.reset();
  }
}

void CheckpointPlan::ForgetTaken() {
  seen_.ForgetCopies();
  shelf_.clear();
  base_.clear();
}

// Hints may have told that it is gone since the names were sorted.
const SeenFile& CheckpointPlan::FileAt(const std::string& path) const {
  static const SeenFile kGone;
  const auto it = seen_.files().find(path);
  return it == seen_.files().end() ? kGone : it->second;
}

bool CheckpointPlan::Shelved(const std::string& path) const { return shelf_.count(path) != 0; }

bool CheckpointPlan::Changed(const SaveUnit& unit) const {
  return std::any_of(unit.files.begin(), unit.files.end(), [&](const std::string& path) {
    const SeenFile& file = FileAt(path);
    return file.version != file.counted;
  });
}

bool CheckpointPlan::Copied(const SaveUnit& unit) const {
  return std::all_of(unit.files.begin(), unit.files.end(), [&](const std::string& path) {
    const SeenFile& file = FileAt(path);
    return file.version == file.copied;
  });
}

MonoTime CheckpointPlan::LastChange(const SaveUnit& unit) const {
  MonoTime last{INT64_MIN / 8};
  for (const std::string& path : unit.files) {
    last = std::max(last, FileAt(path).last_change);
  }
  for (const std::string& path : unit.lost) last = std::max(last, seen_.lost().at(path).at);
  return last;
}

bool CheckpointPlan::Pending() const {
  if (done_mark_ || told_.has_ended() || !told_ended_.empty() || !told_saved_.empty() ||
      seen_.has_writes() || seen_.awaits_hints() || !writes_.empty())
    return true;
  return std::any_of(units_.by_id.begin(), units_.by_id.end(), [&](const auto& entry) {
    if (!Changed(entry.second)) return false;
    // Empty files, and links to nothing, are no save.
    return std::any_of(entry.second.files.begin(), entry.second.files.end(), [&](const auto& path) {
      const SeenFile& file = FileAt(path);
      return file.open || !file.fact || file.fact->kind == FileKind::kLink || file.fact->size > 0;
    });
  });
}

}  // namespace stoker

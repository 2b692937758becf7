// SPDX-License-Identifier: Apache-2.0
// The decisions of CheckpointPlan: what to copy, and which copies are a checkpoint.
#include <algorithm>

#include "base/deliberate_bug.h"
#include "base/text.h"
#include "checkpoint/rule/checkpoint_plan.h"
#include "checkpoint/rule/episode.h"
#include "checkpoint/rule/step_number.h"

namespace stoker {
namespace {

using Standing = UnitVerdict::Standing;

// A set that nothing shows to be complete counts after so many times `quiet` of rest.
constexpr int kSetQuiets = 10;
// Who saw how a writer ended is sure; who did not waits longer.
constexpr int kUnsureQuiets = 3;
// Parts of `quiet` without a change before something is copied that may not be whole yet.
constexpr int kFileSettles = 20;
constexpr int kFolderSettles = 8;
// How long before the end is known something must have been let go of to count by rest.
constexpr Duration kBeforeTheEnd = Duration::Ms(260);
// A file that is open for so many times `quiet` is not merely being written.
constexpr int kHeldQuiets = 5;

}  // namespace

JudgeOptions CheckpointPlan::Options(MonoTime now) const {
  return {options_.quiet, now, ended_, clean_, obeyed_, options_.marks_elsewhere};
}

// What the job file names holds for each folder that is a unit; else a row's folders need the mark
// once one of them has had it.
std::string CheckpointPlan::UserMarkOf(const SaveUnit& unit) const {
  if (unit.folder.empty() || unit.folder == ".") return "";
  if (!options_.complete.empty()) return options_.complete;
  return sets_.rows().marked.count(unit.line) != 0 ? kCompleteMark : "";
}

UnitVerdict CheckpointPlan::JudgeFiles(const SaveUnit& unit, MonoTime now) const {
  LineState facts;
  const auto line = sets_.lines().find(unit.line);
  if (line != sets_.lines().end()) facts = line->second.facts;
  facts.user_mark = UserMarkOf(unit);
  facts.was_whole = marked_units_.count(unit.id) != 0;
  return Judge(unit, seen_, facts, Options(now));
}

CheckpointPlan::Account CheckpointPlan::AccountOf(const std::vector<std::string>& members,
                                                  MonoTime now) const {
  Account account;
  account.last_change = MonoTime{INT64_MIN / 8};
  const std::set<std::string> names(members.begin(), members.end());
  for (const auto& [id, unit] : units_.by_id) {
    if (names.count(unit.line) == 0) continue;
    const bool newest = sets_.lines().at(unit.line).unit == id;
    const bool changed = Changed(unit);
    if (!newest) {
      if (changed) account.earlier.push_back(&unit);
      continue;
    }
    account.last_change = std::max(account.last_change, LastChange(unit));
    const UnitVerdict verdict = JudgeUnit(unit, now);
    if (verdict.held || verdict.standing == Standing::kNothing) continue;
    if (!changed) {
      account.all_closed = account.all_closed && verdict.standing != Standing::kWriting;
      continue;
    }
    account.changed.push_back(&unit);
    account.all_closed = account.all_closed && verdict.closed();
    account.all_whole = account.all_whole && verdict.whole();
    account.all_end = account.all_end && verdict.whole() && (verdict.ends_save || verdict.link);
    account.all_alike = account.all_alike && verdict.alike;
    account.any_end = account.any_end || (verdict.whole() && verdict.ends_save);
    account.unsure = account.unsure || verdict.unsure;
    account.fewer = account.fewer || verdict.fewer;
    const CandidateReason reason = verdict.whole() ? verdict.reason : CandidateReason::kQuiet;
    account.reason = std::min(account.reason, reason);
  }
  return account;
}

// A link to it, if its program makes one, is made at once.
bool CheckpointPlan::Settled(MonoTime last_change, MonoTime now) const {
  return now - last_change >= options_.quiet / kFolderSettles;
}

// By what a set counts as it lies there, if it does.
std::optional<CandidateReason> CheckpointPlan::Counts(const std::vector<std::string>& members,
                                                      const Account& account, MonoTime now) const {
  if (account.changed.empty()) return std::nullopt;
  const bool known = sets_.Known(members) || graceful_;
  const bool complete = account.all_closed && sets_.AllBegun(members, units_, seen_);
  const bool ends = account.all_end && (ended_ || account.reason == CandidateReason::kComplete ||
                                        Settled(account.last_change, now));
  if (complete && account.all_whole && (known || ends)) return account.reason;
  if (ended_) {
    // Nothing follows any more. What was let go of right before may have been one go of several.
    const bool let_go =
        ended_at_ - account.last_change >= kBeforeTheEnd || graceful_ || BugIsOn("tainted-file");
    const bool whole = complete && known && account.all_alike && !account.unsure && let_go;
    return whole ? std::optional(CandidateReason::kQuiet) : std::nullopt;
  }
  const Duration rest = now - account.last_change;
  const Duration quiet = BugIsOn("quiet-ignored") ? Duration{}
                         : account.unsure         ? options_.quiet * kUnsureQuiets
                                                  : options_.quiet;
  if (complete && known && !account.fewer && rest >= quiet) return CandidateReason::kQuiet;
  const bool settled = account.all_closed && rest >= options_.quiet * kSetQuiets;
  return settled ? std::optional(CandidateReason::kQuiet) : std::nullopt;
}

// What of these is closed, as one save.
SavedSet CheckpointPlan::SaveOf(const std::vector<const SaveUnit*>& units, CandidateReason reason,
                                MonoTime now) const {
  SavedSet saved;
  saved.reason = reason;
  for (const SaveUnit* unit : units) {
    const UnitVerdict verdict = JudgeUnit(*unit, now);
    const bool clean =
        clean_ && verdict.standing == Standing::kUnmarked && UserMarkOf(*unit).empty();
    if (!verdict.closed() && !clean) continue;
    for (const std::string& path : unit->files) {
      saved.versions[path] = FileAt(path).version;
    }
    saved.units.insert(unit->id);
    saved.lines.insert(unit->line);
  }
  return saved;
}

// It named what is not in it, and nothing has changed since.
bool CheckpointPlan::Refused(const SavedSet& saved) const {
  return !refused_.empty() &&
         std::all_of(saved.versions.begin(), saved.versions.end(), [&](const auto& one) {
           const auto before = refused_.find(one.first);
           return before != refused_.end() && before->second == one.second;
         });
}

// Sets that count as they lie there are remembered: their copies may come later.
void CheckpointPlan::NoteSaved(MonoTime now) {
  for (const auto& [set, members] : sets_.Members(units_)) {
    const Account account = AccountOf(members, now);
    const auto reason = Counts(members, account, now);
    if (!reason) {
      NoteAlone(set, members, account, now);
      continue;
    }
    std::vector<const SaveUnit*> units = account.changed;
    units.insert(units.end(), account.earlier.begin(), account.earlier.end());
    SavedSet saved = SaveOf(units, *reason, now);
    if (!saved.versions.empty() && !Refused(saved)) sets_.saved()[set] = std::move(saved);
  }
}

// It lay there before the program started, and no checkpoint has it.
bool CheckpointPlan::Loose(const SaveUnit& unit) const {
  return !Changed(unit) && std::any_of(unit.files.begin(), unit.files.end(),
                                       [&](const auto& path) { return base_.count(path) == 0; });
}

// The unit that this one, which is a link beside it, names; "" = it is none.
std::string CheckpointPlan::NamedBy(const SaveUnit& link) const {
  if (!link.single()) return "";
  const auto& fact = FileAt(link.files.front()).fact;
  if (!fact || fact->kind != FileKind::kLink) return "";
  const std::string target = fact->target.substr(0, fact->target.find_last_not_of('/') + 1);
  return link.beside.empty() ? target : link.beside + "/" + target;
}

// A link beside it names another of its row: it follows the newest, and will name this one soon.
bool CheckpointPlan::LinkLagsBehind(const SaveUnit& unit) const {
  return std::any_of(units_.by_id.begin(), units_.by_id.end(), [&](const auto& entry) {
    const SaveUnit& other = entry.second;
    const std::string target = other.beside == unit.beside ? NamedBy(other) : "";
    if (target.empty() || target == unit.id) return false;
    const std::string name = target.substr(target.rfind('/') + 1);
    const std::string row = unit.line.substr(unit.line.rfind('/') + 1);
    return target.rfind('/') == unit.line.rfind('/') && RowOf(name).name == row;
  });
}

// One of a row that its layout's mark ends is a save by itself, whatever else comes beside it; but
// not where the others of a known set were saved with it and only wait for rest or the next save:
// beside what they were before, it would be of another save than they. That wait has an end: others
// may never rest, nor begin again.
void CheckpointPlan::NoteAlone(int set, const std::vector<std::string>& members,
                               const Account& account, MonoTime now) {
  const bool together =
      sets_.Known(members) && account.all_closed && sets_.AllBegun(members, units_, seen_);
  const bool others_follow = together && !account.all_whole;
  std::vector<const SaveUnit*> alone;
  CandidateReason reason = CandidateReason::kComplete;
  for (const SaveUnit* unit : account.changed) {
    const UnitVerdict verdict = JudgeUnit(*unit, now);
    if (!verdict.whole() || !verdict.ends_save || !unit->numbered()) continue;
    const Duration rest = now - LastChange(*unit);
    const bool told = ended_ || verdict.reason == CandidateReason::kComplete;
    if (!told && !Settled(LastChange(*unit), now)) continue;
    const bool waits = others_follow || LinkLagsBehind(*unit);
    if (rest < options_.quiet * kSetQuiets && waits) continue;
    alone.push_back(unit);
    reason = std::min(reason, verdict.reason);
  }
  // A link that names one of them goes with it: the one that the last checkpoint has names another.
  for (const auto& [id, unit] : units_.by_id) {
    const std::string target = Changed(unit) ? NamedBy(unit) : "";
    const auto is_named = [&](const SaveUnit* one) {
      return one->id == target && one->beside == unit.beside;
    };
    if (std::any_of(alone.begin(), alone.end(), is_named)) alone.push_back(&unit);
  }
  const auto other = sets_.saved().find(set);
  if (alone.empty() || (other != sets_.saved().end() && !Waits(other->second, set))) return;
  SavedSet saved = SaveOf(alone, reason, now);
  if (!saved.versions.empty() && !Refused(saved)) sets_.saved()[set] = std::move(saved);
}

// For something that shows that its row is one.
bool CheckpointPlan::Waits(const SavedSet& saved, int set) const {
  return saved.reason == CandidateReason::kNext && sets_.Guessed(set);
}

CheckpointPlan::Serving CheckpointPlan::Serve(const SavedSet& saved, MonoTime now) const {
  bool waits = false;
  for (const std::string& id : saved.units) {
    const auto unit = units_.by_id.find(id);
    if (unit == units_.by_id.end()) continue;
    const bool same = std::all_of(
        unit->second.files.begin(), unit->second.files.end(), [&](const std::string& path) {
          const auto one = saved.versions.find(path);
          return one != saved.versions.end() && one->second == FileAt(path).version;
        });
    if (!same) continue;
    const UnitVerdict verdict = JudgeFiles(unit->second, now);
    const bool goes_on = saved.reason != CandidateReason::kTold && BegunAs(unit->second) != nullptr;
    if (verdict.standing == Standing::kWriting || goes_on) waits = true;
    const bool said = clean_ || saved.reason == CandidateReason::kTold;
    const bool clean = said && verdict.standing == Standing::kUnmarked;
    if (!verdict.closed() && !clean && verdict.standing != Standing::kWriting &&
        saved.reason != CandidateReason::kDone) {
      return Serving::kLost;
    }
  }
  for (const auto& [path, version] : saved.versions) {
    const auto file = seen_.files().find(path);
    const auto shelf = shelf_.find(path);
    const bool there = file != seen_.files().end() && file->second.version == version;
    const bool copied = shelf != shelf_.end() && shelf->second == version;
    if (copied && (there || live_.count(path) == 0)) continue;
    if (!there) return Serving::kLost;
    waits = true;
  }
  for (const auto& [id, unit] : units_.by_id) waits = waits || (Loose(unit) && !Copied(unit));
  return waits ? Serving::kWaits : Serving::kReady;
}

// A line that is no row and is not there for a moment comes again.
bool CheckpointPlan::Keeps(const std::string& unit, const std::string& line, const SavedSet& saved,
                           MonoTime now) const {
  const bool there = units_.by_id.count(unit) != 0;
  if (there) return saved.units.count(unit) == 0;
  if (line != unit || ended_ || saved.units.count(unit) != 0) return false;
  const auto since = gone_since_.find(unit);
  return since == gone_since_.end() || now - since->second < options_.quiet * kSetQuiets;
}

void CheckpointPlan::AddSteps(const SavedSet& saved, Candidate* out) const {
  for (const std::string& id : saved.units) {
    const auto unit = units_.by_id.find(id);
    if (unit == units_.by_id.end() || !unit->second.numbered()) continue;
    const int64_t number = unit->second.row.numbers.front();
    if (number <= out->step) continue;
    out->step = number;
    const auto line = sets_.lines().find(unit->second.line);
    const bool said = StepInPath(id).certain();
    out->counted = said || (line != sets_.lines().end() && line->second.known >= 2);
  }
}

std::optional<Candidate> CheckpointPlan::Make(const SavedSet& saved, MonoTime now) const {
  Candidate out;
  out.reason = saved.reason;
  bool news = saved.reason == CandidateReason::kDone;
  std::vector<WriteTime> writes;
  for (const auto& [path, version] : saved.versions) {
    out.fresh.insert(path);
    const auto file = seen_.files().find(path);
    const bool same = file != seen_.files().end() && file->second.version == version;
    const auto before = base_.find(path);
    news = news || before == base_.end() || before->second.version != version;
    if (!same || file->second.counted == version) continue;
    const MonoTime begin = file->second.begin;
    writes.push_back({begin, std::max(begin, file->second.last_change)});
  }
  for (const auto& [id, unit] : units_.by_id) {
    if (Loose(unit)) out.fresh.insert(unit.files.begin(), unit.files.end());
  }
  for (const auto& [path, place] : base_) {
    if (out.fresh.count(path) == 0 && Keeps(place.unit, place.line, saved, now)) {
      out.kept.insert(path);
    }
  }
  if (!news || (out.fresh.empty() && out.kept.empty())) return std::nullopt;
  for (const auto* paths : {&out.fresh, &out.kept}) {
    for (const std::string& path : *paths) out.units.insert(TopOf(path));
  }
  for (const auto& [path, id] : units_.id_of) {
    const std::string top = TopOf(path);
    if (out.units.count(top) == 0) out.excluded.insert(top);
  }
  for (const std::string& id : saved.units) {
    const auto unit = units_.by_id.find(id);
    if (unit == units_.by_id.end()) continue;
    const UnitVerdict verdict = JudgeUnit(unit->second, now);
    if (verdict.whole() && verdict.reason == CandidateReason::kMark) out.marked.insert(id);
  }
  AddSteps(saved, &out);
  out.took = LongestStretch(std::move(writes), options_.quiet);
  out.cycle = sets_.saves();
  if (saved.reason == CandidateReason::kDone) out.done = done_used_ + 1;
  return out;
}

// The program says that what lies there is whole: a file that it keeps open or mapped is, too. The
// next one of a row of steps may be on its way already.
std::optional<Candidate> CheckpointPlan::DecideDone(MonoTime now) {
  if (!done_) {
    SavedSet all;
    SavedSet next;
    for (const auto& [id, unit] : units_.by_id) {
      const bool writing = std::any_of(unit.files.begin(), unit.files.end(), [&](const auto& path) {
        const SeenFile& file = FileAt(path);
        return file.open && !file.mapped;
      });
      const bool counted = std::any_of(unit.files.begin(), unit.files.end(),
                                       [&](const auto& path) { return FileAt(path).counted != 0; });
      SavedSet& into = writing && unit.numbered() && !counted ? next : all;
      into.units.insert(id);
      into.lines.insert(unit.line);
      for (const std::string& path : unit.files) {
        into.versions[path] = FileAt(path).version;
      }
    }
    done_ = all.versions.empty() ? next : all;
    done_->reason = CandidateReason::kDone;
  }
  const bool copied =
      std::all_of(done_->versions.begin(), done_->versions.end(), [&](const auto& one) {
        const auto shelf = shelf_.find(one.first);
        return shelf != shelf_.end() && shelf->second == one.second;
      });
  if (!copied) {
    done_.reset();
    return std::nullopt;
  }
  return Make(*done_, now);
}

// The disk was full while something was written that does not count yet: what it refused may be
// missing.
bool CheckpointPlan::MetAFullDisk() const {
  return std::any_of(units_.by_id.begin(), units_.by_id.end(), [&](const auto& entry) {
    return std::any_of(entry.second.files.begin(), entry.second.files.end(), [&](const auto& path) {
      const SeenFile& file = FileAt(path);
      return file.version != file.counted && file.written() && seen_.FullSince(file.begin);
    });
  });
}

// Nothing more will come, and nobody cut anything short.
std::optional<Candidate> CheckpointPlan::DecideClean(MonoTime now) {
  if (!ever_written()) return std::nullopt;
  std::vector<const SaveUnit*> units;
  for (const auto& [id, unit] : units_.by_id) units.push_back(&unit);
  const SavedSet saved = SaveOf(units, CandidateReason::kExit, now);
  if (Refused(saved)) return std::nullopt;
  return Serve(saved, now) == Serving::kReady ? Make(saved, now) : std::nullopt;
}

std::optional<Candidate> CheckpointPlan::Decide(MonoTime now) {
  if (done_mark_) return DecideDone(now);
  if (ended_ && clean_ && !MetAFullDisk()) return DecideClean(now);
  if (done_used_ > 0 || (!ended_ && !seen_.task_alive())) return std::nullopt;
  if (auto candidate = DecideTold(now)) return candidate;
  for (int look = 0; look < 2; ++look) {
    if (look == 1 && !OrderWillShow(now)) NoteSaved(now);
    for (auto it = sets_.saved().begin(); it != sets_.saved().end();) {
      if (Waits(it->second, it->first)) {
        ++it;
        continue;
      }
      const Serving serving = Serve(it->second, now);
      auto candidate = serving == Serving::kReady ? Make(it->second, now) : std::nullopt;
      if (candidate) return candidate;
      it = serving == Serving::kWaits ? std::next(it) : sets_.saved().erase(it);
    }
  }
  return std::nullopt;
}

bool CheckpointPlan::WorthACopy(const SaveUnit& unit, const UnitVerdict& verdict,
                                MonoTime now) const {
  if (Copied(unit) || !Changed(unit)) return false;
  if (verdict.standing != Standing::kDoubtful && !verdict.closed()) return false;
  if (verdict.whole()) return true;
  const Duration rest = now - LastChange(unit);
  return rest >= options_.quiet / (unit.single() ? kFileSettles : kFolderSettles);
}

std::set<std::string> CheckpointPlan::UnitsToCopy(MonoTime now) {
  std::set<std::string> out;
  for (const auto& [id, unit] : units_.by_id) {
    if ((ever_written() || clean_) && Loose(unit) && !Copied(unit)) out.insert(id);
  }
  const auto all = sets_.Members(units_);
  for (const auto& [set, members] : all) {
    if (ended_ && !clean_ && !graceful_ && !sets_.Known(members)) {
      const Account account = AccountOf(members, now);
      if (!account.any_end) continue;
    }
    const std::set<std::string> names(members.begin(), members.end());
    for (const auto& [id, unit] : units_.by_id) {
      if (names.count(unit.line) == 0) continue;
      const UnitVerdict verdict = JudgeUnit(unit, now);
      const bool left = ended_ && !Copied(unit) && Changed(unit) &&
                        (verdict.closed() || verdict.standing == Standing::kDoubtful ||
                         (clean_ && verdict.standing == Standing::kUnmarked));
      if (left || WorthACopy(unit, verdict, now)) out.insert(id);
    }
  }
  return out;
}

// What sets that have been saved wait for, as it still lies there.
std::set<std::string> CheckpointPlan::PathsToCopy(MonoTime now) const {
  std::set<std::string> out;
  const auto add = [&](const SavedSet& saved) {
    if (Serve(saved, now) != Serving::kWaits) return;
    for (const auto& [path, version] : saved.versions) {
      const auto file = seen_.files().find(path);
      const bool there = file != seen_.files().end() && file->second.version == version;
      if (there && !file->second.open && file->second.copied != version) out.insert(path);
    }
  };
  for (const auto& [set, saved] : sets_.saved()) add(saved);
  for (const SavedSet& saved : told_saved_) add(saved);
  return out;
}

std::optional<CopyOrder> CheckpointPlan::WantsCopy(MonoTime now) {
  if (!done_mark_ && done_used_ > 0 && !(ended_ && clean_)) return std::nullopt;
  if (!done_mark_ && !ended_ && !seen_.task_alive()) return std::nullopt;
  CopyOrder order;
  order.even_if_open = done_mark_;
  std::set<std::string> units;
  std::set<std::string> paths;
  if (!done_mark_) {
    units = UnitsToCopy(now);
    paths = PathsToCopy(now);
    if (units.empty() && paths.empty()) return std::nullopt;
  }
  for (const auto& [path, file] : seen_.files()) {
    if (!file.fact) continue;
    if (IsStream(path)) {
      order.prefix.push_back(*file.fact);
      continue;
    }
    const auto id = units_.id_of.find(path);
    if (id == units_.id_of.end()) continue;
    if (!done_mark_ && units.count(id->second) == 0 && paths.count(path) == 0) continue;
    if (done_mark_ && file.open && !file.mapped && units_.by_id.at(id->second).numbered() &&
        file.counted == 0) {
      continue;  // of the next one of a row
    }
    if (file.proof == Proof::kBroken) continue;
    (file.copied == file.version ? order.stay : order.copy).push_back(*file.fact);
  }
  if (order.copy.empty()) return std::nullopt;
  return order;
}

MonoTime CheckpointPlan::NextLook(MonoTime now) const {
  MonoTime next = now + Duration::Seconds(5);
  if (!Pending()) return next;
  for (Duration wait :
       {options_.quiet / kFileSettles, options_.quiet / kFolderSettles, options_.quiet,
        options_.quiet * kUnsureQuiets, options_.quiet * kSetQuiets}) {
    for (const auto& [id, unit] : units_.by_id) {
      if (!Changed(unit)) continue;
      const MonoTime at = LastChange(unit) + wait;
      if (at > now) next = std::min(next, at);
    }
  }
  return std::max(next, now + Duration::Ms(1));
}

std::string CheckpointPlan::TakeUnproven(MonoTime now) {
  if (said_unproven_ || ended_ || done_mark_ || done_used_ > 0) return "";
  for (const auto& [id, unit] : units_.by_id) {
    if (unit.numbered() || !Changed(unit) || !Copied(unit)) continue;
    if (now - LastChange(unit) < options_.quiet) continue;
    if (JudgeUnit(unit, now).standing != Standing::kClosed) continue;
    // Of what was open for so long its owner has heard.
    const bool long_open = std::any_of(unit.files.begin(), unit.files.end(), [&](const auto& path) {
      return FileAt(path).last_change - FileAt(path).begin >= kLingering * 2;
    });
    if (long_open) continue;
    said_unproven_ = true;
    return "nothing shows when '" + Printable(id) +
           "' is whole: it counts by rest alone. What helps: another name until it is whole, and a "
           "rename then; or "
           "lines in the file $STOKER_SAVES (docs/checkpoints.md)";
  }
  return "";
}

CheckpointPlan::Obstacle CheckpointPlan::WhyNotYet(MonoTime now) const {
  const auto named = [](const std::string& path) { return "'" + Printable(path) + "'"; };
  if (done_used_ > 0 && !done_mark_) {
    return {"done", std::string("the program has made ") + kDoneMark + " before, and not since"};
  }
  const SaveUnit* latest = nullptr;
  for (const auto& [id, unit] : units_.by_id) {
    if (!Changed(unit)) continue;
    if (const ToldSaves::Save* save = BegunAs(unit)) {
      return {"begun", named(id) + " is of the program's save " + Printable(save->id) +
                           ", which has begun: no line 'end " + Printable(save->id) +
                           "' has come in $STOKER_SAVES"};
    }
    if (latest == nullptr || LastChange(unit) > LastChange(*latest)) latest = &unit;
    const UnitVerdict verdict = JudgeUnit(unit, now);
    if (verdict.standing == Standing::kWriting && !verdict.file.empty()) {
      const SeenFile& file = FileAt(verdict.file);
      if (now - file.begin >= options_.quiet * kHeldQuiets) {
        return {"open", named(verdict.file) + (file.mapped ? " is mapped" : " is open") +
                            " for writing all the time: the program should make the file " +
                            kDoneMark + " when it is whole"};
      }
    }
    if (verdict.standing == Standing::kBroken || verdict.standing == Standing::kDoubtful) {
      const bool cut = verdict.standing == Standing::kDoubtful;
      return {"format", named(verdict.file) +
                            (cut ? "'s writer was cut short, and its format does not show that "
                                   "it is whole"
                                 : " is not whole by its format")};
    }
    if (verdict.standing == Standing::kUnmarked) {
      const std::string mark = verdict.file.substr(verdict.file.rfind('/') + 1);
      return {"complete", named(id) + " has no file " + mark + ", which its saves end with"};
    }
  }
  if (latest == nullptr) return {};
  if (!refused_.empty()) return {"pointer", named(latest->id) + " names what is not there"};
  if (now - LastChange(*latest) < options_.quiet) {
    return {"pauses",
            "there is no pause of " + FormatDuration(options_.quiet) +
                " between the writes, the last of which was " + named(latest->id) +
                ", and nothing shows that it is whole: the program should make the file " +
                kDoneMark + " then, or rename each file when it is whole"};
  }
  if (!Copied(*latest) || now - LastChange(*latest) < options_.quiet * kSetQuiets) return {};
  return {"together", "not all files have been written again that are saved together with " +
                          named(latest->id)};
}

}  // namespace stoker

// SPDX-License-Identifier: Apache-2.0
// The decisions of CheckpointPlan: which moments are checkpoints.
#include <algorithm>

#include "base/deliberate_bug.h"
#include "base/text.h"
#include "checkpoint/rule/checkpoint_plan.h"

namespace stoker {
namespace {

constexpr size_t kMostUnnamedShards = 16;

// A file held open this long without a sign of change does not hold others up.
constexpr Duration kLingering = Duration::Seconds(30);
// One that is open for so many times `quiet` is not merely being written.
constexpr int kHeldQuiets = 5;

bool HasBurst(const Cycle& cycle) {
  return std::any_of(cycle.episodes.begin(), cycle.episodes.end(), IsBurst);
}

// As long as the one before: hardly shorter, and not much longer.
bool Fits(int64_t size, int64_t before) {
  return size >= 0 && before >= 0 && size >= before - std::max<int64_t>(before / 1000, 4096) &&
         size <= before + std::max<int64_t>(before / 20, 64 << 10);
}

}  // namespace

bool CheckpointPlan::Numbered(const std::string& unit) const {
  const std::string general = WithoutNumbers(unit);
  return general != unit && numbered_.count(general) == 0;
}

// Cut short, or ended in a way that makes it likely: only its format can vouch for it.
bool CheckpointPlan::Doubtful(const std::string& path, const File& file) const {
  if (!file.fact || file.fact->kind != FileKind::kFile) return false;
  if (file.doubtful || (file.fate == Fate::kKilled && !clean_)) return true;
  if (ended_ && !clean_ && file.fate > Fate::kLikely) return true;
  int64_t before = file.size_before;
  const std::string role = RoleOf(path);
  bool own = true;
  for (auto it = history_.rbegin(); it != history_.rend(); ++it) {
    if (it->role != role || it->size < 0) continue;
    if (own && it->path == path) {
      own = false;
      continue;
    }
    before = it->size;
    break;
  }
  if (before < 0 || (ended_ && clean_)) return false;
  // An error in the middle of a write closes the file, too, before it ends the program.
  const int64_t percent = file.fate <= Fate::kLikely && !ended_ ? 2 : 0;
  const int64_t slack = std::max<int64_t>(before * percent / 100, 4096);
  return before - file.fact->size > slack;
}

CheckpointPlan::View CheckpointPlan::Look(MonoTime now) const {
  View view;
  for (const auto& [path, file] : files_) {
    if (IsStream(path) || !file.open) continue;
    const std::string unit = TopOf(path);
    const bool lingers =
        !file.mapped && now - file.begin >= kLingering && now - file.last_change >= kLingering;
    if (!NeverTaken(unit)) {
      view.blocked = true;
    } else if (lingers) {
      view.excluded.insert(unit);
    } else {
      view.open_new.insert(unit);
    }
  }
  LookAtUnits(now, &view);
  std::map<std::string, bool> alone;  // of units that were cut short; each is looked at once
  for (const auto& [path, file] : files_) {
    if (IsStream(path) || file.version == file.taken) continue;
    const std::string unit = TopOf(path);
    if (file.refused) {
      const auto known = alone.find(unit);
      const bool can_go = known != alone.end()
                              ? known->second
                              : NeverTaken(unit) && Numbered(unit) && StandsAlone(unit);
      alone[unit] = can_go;
      // One of a row of steps can be left out. A fixed name belongs to what lies beside it.
      if (can_go) {
        view.excluded.insert(unit);
      } else {
        view.blocked = true;
      }
    }
  }
  for (const auto& [path, file] : files_) {
    if (file.version == file.taken || view.excluded.count(TopOf(path)) != 0) continue;
    if (IsStream(path)) continue;
    view.changed.push_back(path);
    view.unsure = view.unsure || file.fate == Fate::kUnknown;
    if (!file.open && Doubtful(path, file)) view.prove.push_back(path);
  }
  return view;
}

// Nothing that has changed beside this step of a row, which was cut short, is of the same save:
// that would go with no older step of it. What was written long after it is of a later save.
bool CheckpointPlan::StandsAlone(const std::string& unit) const {
  const std::string row = WithoutNumbers(unit);
  MonoTime cut;  // when it last was
  for (const auto& [path, file] : files_) {
    if (file.refused && TopOf(path) == unit) cut = std::max(cut, file.last_change);
  }
  const MonoTime until = cut + std::max(options_.quiet, rhythm_.lag);
  bool others = false;
  for (const auto& [path, file] : files_) {
    const std::string top = TopOf(path);
    if (IsStream(path) || file.version == file.taken || top == unit) continue;
    if (WithoutNumbers(top) != row || !NeverTaken(top)) {
      others = others || file.last_change <= until;
    } else if (!file.refused && !file.open && file.last_change > cut) {
      return true;
    }
  }
  return !others;
}

void CheckpointPlan::LookAtUnits(MonoTime now, View* view) const {
  std::map<std::string, MonoTime> marked;
  std::map<std::string, MonoTime> newest;
  for (const auto& [path, file] : files_) {
    const std::string unit = TopOf(path);
    if (explicit_.count(WithoutNumbers(unit)) == 0) continue;
    if (path == unit + "/" + kCompleteMark && !file.open) marked[unit] = file.last_change;
    newest[unit] = std::max(newest[unit], file.last_change);
  }
  for (const auto& [unit, at] : newest) {
    const auto it = marked.find(unit);
    if (it != marked.end() && it->second >= at) {
      view->open_new.erase(unit);
      continue;
    }
    if (NeverTaken(unit)) {
      view->excluded.insert(unit);
      view->open_new.erase(unit);
    } else {
      view->blocked = true;
    }
  }
  for (const auto& [unit, at] : dying_) {
    if (now - at >= options_.quiet || (ended_ && WasSaved(unit))) continue;
    // A step that is being cleared away is left out; a fixed name that is being cleared away will
    // come again, and then there is nothing to take until it has.
    if (Numbered(unit)) {
      view->excluded.insert(unit);
    } else {
      view->blocked = true;
    }
  }
}

// Whether what is left of a unit, of which a file went shortly before the end, is a save and not
// the rest of one that was being cleared away: locks and working names go at the end of a save,
// too.
bool CheckpointPlan::WasSaved(const std::string& unit) const {
  bool changed = false;
  bool newest = true;
  for (const auto& [path, file] : files_) {
    const std::string top = TopOf(path);
    changed = changed || (top == unit && !IsStream(path) && file.version != file.taken);
    newest = newest &&
             (WithoutNumbers(top) != WithoutNumbers(unit) || LastNumber(top) <= LastNumber(unit));
  }
  return Numbered(unit) ? newest && (clean_ || HasWhatASisterHas(unit)) : clean_ && changed;
}

// Killed while it cleared its newest step away, a program leaves a rest that a step which was kept
// has more than; a lock or a working name is in none of these.
bool CheckpointPlan::HasWhatASisterHas(const std::string& unit) const {
  std::map<std::string, std::set<std::string>> roles;  // by unit
  for (const auto& [path, file] : files_) {
    const std::string top = TopOf(path);
    if (!IsStream(path) && WithoutNumbers(top) == WithoutNumbers(unit)) {
      roles[top].insert(RoleOf(path));
    }
  }
  const std::set<std::string>& own = roles[unit];
  return std::any_of(roles.begin(), roles.end(), [&](const auto& sister) {
    const std::set<std::string>& has = sister.second;
    return sister.first != unit && !NeverTaken(sister.first) &&
           std::includes(own.begin(), own.end(), has.begin(), has.end());
  });
}

bool CheckpointPlan::Complete(const Cycle& cycle, const Cycle& model) const {
  if (cycle.roles != model.roles) return false;
  for (const Episode& episode : cycle.episodes) {
    if (!episode.lived) return false;
    const bool fits =
        std::any_of(model.episodes.begin(), model.episodes.end(), [&](const Episode& other) {
          return other.role == episode.role && other.files == episode.files &&
                 (IsBurst(episode) || Fits(episode.size, other.size));
        });
    if (!fits) return false;
  }
  // Of files that are others each time, only what comes behind all of them says that they are all.
  return !HasBurst(cycle) || (!IsBurst(cycle.episodes.back()) &&
                              cycle.episodes.back().role == model.episodes.back().role);
}

// Files that always changed together so far have not all changed yet.
bool CheckpointPlan::MissesSister() const {
  if (rhythm_.together.size() < 2) return false;
  std::set<std::string> written;
  if (!rhythm_.cycles.empty()) {
    for (const auto& [role, count] : rhythm_.cycles.back().roles) written.insert(role);
  } else {
    for (const Episode& episode : history_) written.insert(episode.role);
  }
  return !std::includes(written.begin(), written.end(), rhythm_.together.begin(),
                        rhythm_.together.end());
}

// A name that was in the last moment, and is not one of a row of steps, is not there.
bool CheckpointPlan::MissesUnit(const View& view) const {
  for (const std::string& unit : taken_units_) {
    if (Numbered(unit)) continue;
    if (view.excluded.count(unit) != 0) return true;
    const auto it = files_.lower_bound(unit);
    if (it == files_.end() || TopOf(it->first) != unit) {
      const auto below = files_.lower_bound(unit + "/");
      if (below == files_.end() || !StartsWith(below->first, unit + "/")) return true;
    }
  }
  return false;
}

bool CheckpointPlan::FastBoundary(const View& view, MonoTime now) const {
  if (!rhythm_.steady || !rhythm_.restless || rhythm_.cycles.size() < 3) return false;
  if (!view.prove.empty() || MissesUnit(view)) return false;
  const Cycle& current = rhythm_.cycles.back();
  if (!Complete(current, rhythm_.cycles[rhythm_.cycles.size() - 2])) return false;
  if (now - last_change_ < rhythm_.hold) return false;
  if (!PlainSteps()) return true;
  if (NamesShards() && !PastFirstSave()) return false;
  // "step-1.pt, step-2.pt, …" may be steps or the shards of one: steps never end, shards do.
  return rhythm_.cycles.size() >= 5 && first_change_ &&
         (now - *first_change_ >= options_.quiet * 2 || !taken_units_.empty());
}

bool CheckpointPlan::PlainSteps() const {
  return rhythm_.lead.find('#') != std::string::npos && rhythm_.lead.find('/') == std::string::npos;
}

// Something has been taken, or one save cannot have so many parts and last so long: not without
// saying in their names of how many.
bool CheckpointPlan::PastFirstSave() const {
  if (!taken_units_.empty()) return true;
  if (!first_change_ || rhythm_.cycles.size() < kMostUnnamedShards) return false;
  return last_change_ - *first_change_ >= options_.quiet * (NamesShards() ? 100 : 10);
}

// "model-00001-of-00003": the names say that all of them are one.
bool CheckpointPlan::NamesShards() const { return rhythm_.lead.find("-of-#") != std::string::npos; }

// Whether a round is a shard of a first save that goes on. What comes with something else each time
// is a step, and so is what comes after a pause for training; shards follow each other at once.
bool CheckpointPlan::MayBeShard(const Cycle& cycle) const {
  if (!PlainSteps() || PastFirstSave()) return false;
  if (NamesShards()) return true;
  if (cycle.episodes.size() != 1) return false;
  if (!first_change_ || last_change_ - *first_change_ < options_.quiet) return true;
  return std::all_of(rhythm_.cycles.begin() + 1, rhythm_.cycles.end(), [](const Cycle& next) {
    return next.before * 4 <= next.episodes.front().end - next.episodes.front().begin;
  });
}

bool CheckpointPlan::MarkedComplete(const View& view) const {
  return std::any_of(view.changed.begin(), view.changed.end(), [&](const std::string& path) {
    return EndsWith(path, std::string("/") + kCompleteMark);
  });
}

// The program says that what lies there is whole: a file that it keeps open or mapped is, too. The
// next one of a row of steps may be on its way already.
std::optional<Candidate> CheckpointPlan::Done(View view) const {
  std::set<std::string> next = view.open_new;
  for (const auto& [path, file] : files_) {
    if (file.open && file.mapped) next.erase(TopOf(path));
  }
  std::erase_if(next, [&](const std::string& unit) { return !Numbered(unit); });
  const bool others =
      std::any_of(view.changed.begin(), view.changed.end(),
                  [&](const std::string& path) { return next.count(TopOf(path)) == 0; });
  if (others) view.excluded.insert(next.begin(), next.end());
  return Make(CandidateReason::kDone, view);
}

std::optional<Candidate> CheckpointPlan::DecideAlive(const View& view, MonoTime now) const {
  if (done_mark_) return Done(view);
  if (done_used_ || !task_alive_ || refused_) return std::nullopt;
  if (view.blocked) return std::nullopt;
  if (view.open_new.empty()) {
    const Duration still = now - last_change_;
    if (MarkedComplete(view)) return Make(CandidateReason::kComplete, view);
    const bool late = still >= std::max(options_.quiet * 10, rhythm_.lag * 4);
    // Most crashes of a part bring the whole program down within moments.
    const Duration quiet = BugIsOn("quiet-ignored") ? Duration{}
                           : view.unsure            ? options_.quiet * 3
                                                    : options_.quiet;
    if (still >= quiet && (late || (!MissesSister() && !MissesUnit(view)))) {
      return Make(CandidateReason::kQuiet, view);
    }
    if (FastBoundary(view, now)) return Make(CandidateReason::kRhythm, view);
  }
  return BeforeTheNext(view);
}

// The program is at its next checkpoint already, in new files: the one before it lies there whole.
std::optional<Candidate> CheckpointPlan::BeforeTheNext(View view) const {
  if (!rhythm_.steady || rhythm_.cycles.size() < 3 || view.blocked) return std::nullopt;
  size_t at = rhythm_.cycles.size() - 1;
  if (!Complete(rhythm_.cycles[at], rhythm_.cycles[at - 1])) --at;
  const Cycle& whole = rhythm_.cycles[at];
  if (at >= 1 && !Complete(whole, rhythm_.cycles[at - 1])) return std::nullopt;
  if (MayBeShard(whole)) return std::nullopt;
  bool moved_on = false;
  for (const auto& [path, file] : files_) {
    if (IsStream(path)) continue;
    const std::string unit = TopOf(path);
    if (!file.open && file.last_change <= whole.end) continue;
    moved_on = true;
    if (!NeverTaken(unit)) return std::nullopt;
    // Open all along, under a name that is no step's: of this one as much as of the next.
    if (file.open && file.begin <= whole.end && !Numbered(unit)) return std::nullopt;
    view.excluded.insert(unit);
  }
  if (!moved_on) return std::nullopt;
  for (const Episode& episode : whole.episodes) {
    if (view.excluded.count(TopOf(episode.path)) != 0) return std::nullopt;
  }
  if (MissesUnit(view)) return std::nullopt;
  std::erase_if(view.changed,
                [&](const std::string& path) { return view.excluded.count(TopOf(path)) != 0; });
  std::erase_if(view.prove,
                [&](const std::string& path) { return view.excluded.count(TopOf(path)) != 0; });
  if (!view.prove.empty()) return std::nullopt;
  return Make(CandidateReason::kNext, view);
}

// The boundary that was seen while the program lived, if it still lies there.
std::optional<Candidate> CheckpointPlan::Settled() const {
  if (settled_.empty()) return std::nullopt;
  View view;
  std::set<std::string> units;
  for (const auto& [path, version] : settled_) {
    const auto it = files_.find(path);
    if (it == files_.end() || it->second.version != version) return std::nullopt;
    units.insert(TopOf(path));
  }
  for (const auto& [path, file] : files_) {
    if (IsStream(path)) continue;
    const std::string unit = TopOf(path);
    if (settled_.count(path) == 0) {
      if (units.count(unit) != 0) return std::nullopt;
      view.excluded.insert(unit);
    } else if (file.version != file.taken) {
      view.changed.push_back(path);
    }
  }
  return Make(settled_reason_, view);
}

// Whether a step of the row of `unit` is all that a save consists of, as far as what lies there and
// what earlier attempts learned can tell: nothing else was written with the earlier steps.
bool CheckpointPlan::StepsAreSaves(const std::string& unit,
                                   const std::set<std::string>& shape) const {
  if (!std::includes(shape.begin(), shape.end(), options_.together.begin(),
                     options_.together.end())) {
    return false;
  }
  const std::string row = WithoutNumbers(unit);
  std::map<int64_t, int64_t> steps;  // number -> newest mtime in it
  for (const auto& [path, file] : files_) {
    const std::string top = TopOf(path);
    if (!file.fact || top == unit || WithoutNumbers(top) != row) continue;
    int64_t& newest = steps[LastNumber(top)];
    newest = std::max(newest, file.fact->mtime_ns);
  }
  if (steps.empty()) return false;
  // What was written after the last step but one was written with the last one.
  const int64_t last_ns = steps.rbegin()->second;
  const int64_t since_ns = steps.size() >= 2 ? std::next(steps.rbegin())->second
                                             : last_ns - options_.quiet.ms * 10 * 1'000'000;
  return std::all_of(files_.begin(), files_.end(), [&](const auto& entry) {
    const std::string top = TopOf(entry.first);
    if (IsStream(entry.first) || !entry.second.fact || WithoutNumbers(top) == row) return true;
    return entry.second.fact->mtime_ns <= since_ns &&
           !(WithoutNumbers(top) != top && steps.count(LastNumber(top)) != 0);
  });
}

// Could these changes be all of one checkpoint? Wholeness of each file is another question.
bool CheckpointPlan::WholeSet(const View& view) const {
  int files = 0;
  for (const auto& [path, file] : files_) {
    if (!IsStream(path)) ++files;
  }
  if (files == 1 && !view.changed.empty()) {
    // Alone so far; but only a program that came to its own end had the time to write a second one.
    return graceful_ || !NeverTaken(TopOf(view.changed.front()));
  }
  std::set<std::string> written;
  if (rhythm_.steady) {
    const std::vector<Cycle>& cycles = rhythm_.cycles;
    if (MayBeShard(cycles.back())) return false;
    if (HasBurst(cycles.back()) && !Complete(cycles.back(), cycles[cycles.size() - 2]))
      return false;
    for (const auto& [role, count] : cycles.back().roles) written.insert(role);
    std::set<std::string> usual;
    for (const auto& [role, count] : cycles[cycles.size() - 2].roles) usual.insert(role);
    return written == usual;
  }
  if (rhythm_.cycles.empty() && !options_.together.empty()) {
    for (const Episode& episode : history_) {
      if (!written.insert(episode.role).second) return false;
    }
    return written == options_.together;
  }
  // One new folder with the same files as a folder of an earlier step.
  const std::string unit = view.changed.empty() ? "" : TopOf(view.changed.front());
  if (!Numbered(unit) || !NeverTaken(unit)) return false;
  std::map<std::string, std::set<std::string>> shapes;
  for (const auto& [path, file] : files_) {
    const std::string top = TopOf(path);
    if (!IsStream(path) && WithoutNumbers(top) == WithoutNumbers(unit)) {
      shapes[top].insert(RoleOf(path));
    }
  }
  const bool alone = std::all_of(view.changed.begin(), view.changed.end(),
                                 [&](const std::string& path) { return TopOf(path) == unit; }) &&
                     StepsAreSaves(unit, shapes[unit]);
  return alone && std::any_of(shapes.begin(), shapes.end(), [&](const auto& shape) {
           return !NeverTaken(shape.first) && shape.second == shapes[unit];
         });
}

std::optional<Candidate> CheckpointPlan::Proven(View view) const {
  if (view.blocked || !WholeSet(view)) return std::nullopt;
  view.prove.clear();
  for (const std::string& path : view.changed) {
    const File& file = files_.at(path);
    const bool first = NeverTaken(TopOf(path)) && !Numbered(TopOf(path));
    if (file.fate != Fate::kLived || file.doubtful || first || Doubtful(path, file)) {
      view.prove.push_back(path);
    }
  }
  return Make(CandidateReason::kProven, view);
}

std::optional<Candidate> CheckpointPlan::DecideEnded(const View& view) const {
  if (done_mark_) return Make(CandidateReason::kDone, view);
  if (refused_) return std::nullopt;
  if (clean_) return view.blocked ? std::nullopt : Make(CandidateReason::kExit, view);
  if (auto settled = Settled()) return settled;
  if (done_used_) return std::nullopt;
  if (MarkedComplete(view) && !view.blocked && view.prove.empty()) {
    return Make(CandidateReason::kComplete, view);
  }
  if (rhythm_.steady && rhythm_.cycles.size() >= 3 && !view.blocked && view.prove.empty() &&
      !MissesUnit(view) && !MayBeShard(rhythm_.cycles.back()) &&
      Complete(rhythm_.cycles.back(), rhythm_.cycles[rhythm_.cycles.size() - 2])) {
    return Make(CandidateReason::kRhythm, view);
  }
  if (auto before = BeforeTheNext(view)) return before;
  return Proven(view);
}

std::optional<Candidate> CheckpointPlan::Make(CandidateReason reason, const View& view) const {
  Candidate out;
  out.reason = reason;
  out.excluded = view.excluded;
  out.prove = view.prove;
  bool news = reason == CandidateReason::kDone;
  bool any = false;
  std::vector<WriteTime> writes;
  for (const auto& [path, file] : files_) {
    if (!file.fact || view.excluded.count(TopOf(path)) != 0) continue;
    out.units.insert(TopOf(path));
    if (IsStream(path)) {
      out.prefix.push_back(*file.fact);
      continue;
    }
    any = true;
    if (file.version == file.taken) {
      out.stay.push_back(*file.fact);
      continue;
    }
    news = true;
    out.copy.push_back(*file.fact);
    writes.push_back({file.begin, std::max(file.begin, file.last_change)});
    const std::string unit = TopOf(path);
    if (!Numbered(unit) || LastNumber(unit) <= out.step) continue;
    out.step = LastNumber(unit);
    const auto row = rows_.find(WithoutNumbers(unit));
    out.counted = row != rows_.end() && row->second.size() >= 2;
  }
  if (!any || !news) return std::nullopt;
  out.took = LongestStretch(std::move(writes), options_.quiet);
  out.together = rhythm_.together;
  out.cycle = cycle_;
  out.saves = saves_;
  return out;
}

std::optional<MonoTime> CheckpointPlan::NextBegan() const {
  std::optional<MonoTime> began;
  for (const auto& [path, file] : files_) {
    if (IsStream(path) || file.version == file.taken) continue;
    began = std::min(began.value_or(file.begin), file.begin);
  }
  return began;
}

CheckpointPlan::Obstacle CheckpointPlan::WhyNotYet(MonoTime now) const {
  const auto named = [](const std::string& path) { return "'" + Printable(path) + "'"; };
  if (done_used_ && !done_mark_) {
    return {"done", std::string("the program has made ") + kDoneMark + " before, and not since"};
  }
  std::string latest;
  for (const auto& [path, file] : files_) {
    if (IsStream(path) || file.version == file.taken) continue;
    if (file.open && now - file.begin >= options_.quiet * kHeldQuiets) {
      return {"open", named(path) + (file.mapped ? " is mapped" : " is open") +
                          " for writing all the time: the program should make the file " +
                          kDoneMark + " when it is whole"};
    }
    if (file.refused) {
      return {"format", named(path) + " is not whole by its format, and its writer was cut short"};
    }
    if (latest.empty() || file.last_change > files_.at(latest).last_change) latest = path;
  }
  if (latest.empty()) return {};
  const View view = Look(now);
  const auto unmarked = std::find_if(
      view.excluded.begin(), view.excluded.end(),
      [&](const std::string& unit) { return explicit_.count(WithoutNumbers(unit)) != 0; });
  if (unmarked != view.excluded.end()) {
    return {"complete", named(*unmarked) + " has no file " + kCompleteMark + ", as others had"};
  }
  if (refused_) return {"pointer", named(latest) + " names what is not there, or it was refused"};
  const std::string pause = FormatDuration(options_.quiet * (view.unsure ? 3 : 1));
  if (now - last_change_ < options_.quiet * (view.unsure ? 3 : 1)) {
    return {"pauses", "there is no pause of " + pause +
                          " between the writes, the last of which was " + named(latest) +
                          ", and no round of them is like the one before"};
  }
  if (MissesSister() || MissesUnit(view)) {
    return {"together", "not all files have been written again that used to change together with " +
                            named(latest)};
  }
  return {};
}

std::optional<Candidate> CheckpointPlan::Decide(MonoTime now) {
  const View view = Look(now);
  if (ended_) return DecideEnded(view);
  std::optional<Candidate> candidate = DecideAlive(view, now);
  if (candidate && candidate->prove.empty()) {
    settled_.clear();
    settled_reason_ = candidate->reason;
    for (const auto* list : {&candidate->copy, &candidate->stay}) {
      for (const FileFact& fact : *list) settled_[fact.path] = files_.at(fact.path).version;
    }
  }
  return candidate;
}

}  // namespace stoker

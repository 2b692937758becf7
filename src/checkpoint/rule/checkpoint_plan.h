// SPDX-License-Identifier: Apache-2.0
// When is what lies in a checkpoint directory a checkpoint? Pure: hints, scans and times in; "copy
// these files now" out. docs/checkpoints.md has the rules in words.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "checkpoint/rule/burst.h"
#include "checkpoint/rule/rhythm.h"
#include "checkpoint/rule/save_times.h"
#include "port/checkpoint_files.h"

namespace stoker {

// Made in the checkpoint directory by the program: what
// lies there now is a checkpoint. The agent deletes it once it has its copy; until then nothing
// should be written.
inline constexpr char kDoneMark[] = ".stoker-done";
// A file of this name inside a folder says that the folder is complete. Once one folder has had it,
// its sisters without it are not.
inline constexpr char kCompleteMark[] = ".complete";

struct PlanOptions {
  Duration quiet = Duration::Seconds(2);
  // Roles that an earlier attempt found to change together (from the restored manifest).
  std::set<std::string> together;
};

enum class CandidateReason { kQuiet, kRhythm, kNext, kComplete, kDone, kExit, kProven };
std::string_view Name(CandidateReason reason);

// One moment of the directory that may become a checkpoint.
struct Candidate {
  CandidateReason reason = CandidateReason::kQuiet;
  std::vector<FileFact> copy;      // new or changed since the last moment taken
  std::vector<FileFact> stay;      // as in the last moment taken
  std::vector<FileFact> prefix;    // logs: changed at any time
  std::vector<std::string> prove;  // of `copy`: only if their format shows that they are whole
  std::set<std::string> excluded;  // units that are not in it though they are there
  std::set<std::string> units;     // top-level entries that are in it
  std::set<std::string> together;  // what the rhythm says now, for the next attempt
  int64_t cycle = 0;               // most often that any one file was written in this attempt
  int64_t saves = 0;               // the same, where files of a row at one go are one save
  int64_t step = -1;               // number of the newest unit, where names have one
  bool counted = false;            // that number grows from one checkpoint to the next
  Duration took;                   // the longest that was written in it at one go
};

// Not thread-safe.
class CheckpointPlan {
 public:
  explicit CheckpointPlan(PlanOptions options);

  void OnEvents(const std::vector<FileEvent>& events);
  // `later`: hints that came while the scan was made; they are to be given to OnEvents afterwards.
  void OnScan(const DirectoryScan& scan, MonoTime now, const std::vector<FileEvent>& later = {});
  // What lies there now is the restored checkpoint: the state of the last moment taken.
  void OnRestored(const DirectoryScan& scan);
  // `candidate` was copied; what changed since then counts from now on.
  void OnTaken(const Candidate& candidate);
  // The format of these files shows that they are not whole, or `candidate` names what is not in
  // it: not before something changes.
  void OnRefused(const Candidate& candidate, const std::set<std::string>& broken);
  // The program ended. `clean`: with exit code 0, without having been told to. `graceful`: with
  // exit code 0, but it was told to.
  void OnEnded(bool clean, bool graceful, MonoTime now);
  // Nothing that was taken but not committed counts any more: take it again.
  void ForgetTaken();

  // What to copy now, judged on the last scan, which must be newer than the last event.
  // A boundary that it finds while the program lives is remembered: it counts even when the copy
  // cannot be made before the program dies.
  std::optional<Candidate> Decide(MonoTime now);
  // Why what has changed is no checkpoint as it lies there, in words that name a file. `kind` is
  // the same for all files that the same keeps back. Empty: nothing keeps it back.
  struct Obstacle {
    std::string kind;
    std::string text;
  };
  Obstacle WhyNotYet(MonoTime now) const;
  // Something changed that has not been taken, or the program asked for a commit.
  bool Pending() const;
  // When Decide may say something new without any event.
  MonoTime NextLook(MonoTime now) const;
  bool done_marked() const { return done_mark_; }
  const Rhythm& rhythm() const { return rhythm_; }
  // This program's pauses are shorter than `quiet`: no time to lose at a boundary.
  bool restless() const { return rhythm_.restless; }
  int64_t cycle() const { return cycle_; }
  // When the saves of this attempt began, and what has been begun since the last moment taken.
  const SaveTimes& save_times() const { return save_times_; }
  std::optional<MonoTime> NextBegan() const;
  MonoTime last_change() const { return last_change_; }
  // Nothing has changed since the last moment was taken, and nothing broke off.
  bool all_taken() const { return !first_change_ && (!ended_ || clean_); }
  // True when the program itself has written anything here in this attempt.
  bool ever_written() const { return cycle_ > 0; }

 private:
  struct File {
    std::optional<FileFact> fact;
    bool open = false;  // being written, as far as is known
    bool mapped = false;
    bool by_event = false;  // `open` comes from a hint; a scan may disprove it
    bool held = false;      // somebody had it open or mapped at the last look
    MonoTime begin;         // of the write under way
    MonoTime last_change;
    uint64_t version = 1;      // +1 a write
    uint64_t taken = 0;        // version in the last moment taken; 0 = not in it
    int64_t size_before = -1;  // size in the last moment taken
    Fate fate = Fate::kLived;  // how the last write ended
    bool doubtful = false;     // the disk was full or the size limit met
    bool touched = false;      // a hint came since the last scan: no wonder it looks different
    bool shrunk = false;       // the write under way was noticed by the file being shorter
    bool refused = false;      // its format said: not whole
  };
  using Files = std::map<std::string, File>;
  // What Decide works on, made once per call.
  struct View {
    bool blocked = false;              // something that must be in it is being written
    bool unsure = false;               // nobody saw how the last write of something in it ended
    std::set<std::string> open_new;    // units never taken that are being written
    std::set<std::string> excluded;    // units to leave out
    std::vector<std::string> changed;  // paths, of units that are not excluded
    std::vector<std::string> prove;
  };

  void Begin(const std::string& path, MonoTime at, bool by_event);
  void End(const std::string& path, MonoTime at, Fate fate, bool disk_full);
  bool FullSince(MonoTime begin) const;
  void MoveIn(const FileEvent& event);
  void Gone(const std::string& path, MonoTime at);
  void MoveDirectory(const FileEvent& event);
  void GiveRoleBack(const std::string& place);
  void LoseAll(MonoTime at);
  void DoubtTheLikely(MonoTime now);
  void Absorb(const FileFact& fact, const DirectoryScan& scan, MonoTime now);
  void Changed(const std::string& path, MonoTime at);
  void Remember(Episode episode);
  void Count(const Episode& episode);
  void NoteUnit(const std::string& unit);
  void NotSteps(const std::string& row);
  bool SisterSince(const std::string& path) const;
  void Uncount(const Episode& episode);
  void Relearn();
  std::string RoleOf(const std::string& path) const;
  void FillSize(const std::string& path, int64_t size);
  int64_t SizeBefore(const std::string& path, const std::string& role) const;

  View Look(MonoTime now) const;
  void LookAtUnits(MonoTime now, View* view) const;
  bool NeverTaken(const std::string& unit) const { return taken_units_.count(unit) == 0; }
  bool Numbered(const std::string& unit) const;
  bool WasSaved(const std::string& unit) const;
  bool HasWhatASisterHas(const std::string& unit) const;
  bool Doubtful(const std::string& path, const File& file) const;
  bool Complete(const Cycle& cycle, const Cycle& model) const;
  bool StepsAreSaves(const std::string& unit, const std::set<std::string>& shape) const;
  bool StandsAlone(const std::string& unit) const;
  bool MissesSister() const;
  bool MissesUnit(const View& view) const;
  bool FastBoundary(const View& view, MonoTime now) const;
  bool PlainSteps() const;
  bool MayBeShard(const Cycle& cycle) const;
  bool PastFirstSave() const;
  bool NamesShards() const;
  bool MarkedComplete(const View& view) const;
  std::optional<Candidate> DecideAlive(const View& view, MonoTime now) const;
  std::optional<Candidate> Done(View view) const;
  std::optional<Candidate> DecideEnded(const View& view) const;
  std::optional<Candidate> Settled() const;
  std::optional<Candidate> BeforeTheNext(View view) const;
  std::optional<Candidate> Proven(View view) const;
  bool WholeSet(const View& view) const;
  std::optional<Candidate> Make(CandidateReason reason, const View& view) const;

  PlanOptions options_;
  Files files_;
  std::deque<Episode> history_;
  Bursts bursts_;
  Rhythm rhythm_;
  std::optional<std::pair<std::deque<Episode>, std::string>> learned_from_;  // and its lead then
  std::set<std::string> numbered_;      // roles with '#' whose members were written again in place
  std::set<std::string> explicit_;      // roles of units that use kCompleteMark
  std::map<std::string, int> written_;  // episodes per role, for `cycle_`
  // Of a role with '#': the last go, and how many writes of all goes were not the first in theirs.
  struct Go {
    MonoTime end;
    std::set<std::string> paths;
    int more = 0;
  };
  std::map<std::string, Go> goes_;
  std::map<std::string, int> writes_;  // episodes per path that is there
  // Units seen of each row of numbered names; two are enough to show that it grows.
  std::map<std::string, std::set<std::string>> rows_;
  std::map<std::string, std::string> vacated_;  // folders that were moved, and where to
  std::map<std::string, MonoTime> dying_;  // units of which files are being deleted: last one when
  std::set<std::string> taken_units_;      // of the last moment taken
  int64_t cycle_ = 0;
  int64_t saves_ = 0;
  SaveTimes save_times_;
  bool done_mark_ = false;
  bool done_used_ = false;
  bool task_alive_ = false;
  bool ended_ = false;
  bool clean_ = false;
  bool graceful_ = false;
  bool refused_ = false;                  // the last candidate named what was not in it
  std::optional<MonoTime> first_change_;  // oldest change that has not been taken
  MonoTime last_change_;
  std::optional<MonoTime> last_full_;  // when the disk was last seen full
  // The newest boundary seen while the program lived, not taken yet: versions of what was in it.
  std::map<std::string, uint64_t> settled_;
  CandidateReason settled_reason_ = CandidateReason::kQuiet;
};

}  // namespace stoker

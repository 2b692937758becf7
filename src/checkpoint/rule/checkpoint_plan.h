// SPDX-License-Identifier: Apache-2.0
// When is what lies in a checkpoint directory a checkpoint? Pure: hints, scans and times in; "copy
// these files now" and "what was copied counts" out. docs/checkpoints.md has the rules in words.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/time.h"
#include "checkpoint/rule/judge.h"
#include "checkpoint/rule/seen.h"
#include "checkpoint/rule/sets.h"
#include "checkpoint/rule/told_saves.h"
#include "checkpoint/rule/unit.h"
#include "port/checkpoint_files.h"

namespace stoker {

// Made in the checkpoint directory by the program: what
// lies there now is a checkpoint. The agent deletes it once it has its copy; until then nothing
// should be written.
inline constexpr char kDoneMark[] = ".stoker-done";

struct PlanOptions {
  Duration quiet = Duration::Seconds(2);
  bool marks_elsewhere = false;    // JudgeOptions::marks_elsewhere
  std::string complete;            // the file that each save's folder ends with; "" = none is said
  std::vector<std::string> names;  // of the directory: ToldSaves
  bool several = false;            // nodes: who pairs their saves tells what cannot be known
};

// What is to be copied while it lies there. A copy counts only once Decide says so.
struct CopyOrder {
  std::vector<FileFact> copy;
  std::vector<FileFact> stay;    // of the same units, copied before: must lie there as they did
  std::vector<FileFact> prefix;  // logs: changed at any time
  bool even_if_open = false;     // the program said that it is done
};

// What has been copied and is a checkpoint now, together with what counted before.
struct Candidate {
  CandidateReason reason = CandidateReason::kQuiet;
  std::set<std::string> fresh;     // paths whose newest copy is in it
  std::set<std::string> kept;      // paths that are in it as they were in the last one
  std::set<std::string> units;     // top-level entries that are in it
  std::set<std::string> excluded;  // that are not, though they are there
  std::set<std::string> marked;    // units that a mark has shown to be whole
  int64_t cycle = 0;               // most often that anything was saved in this attempt
  int64_t done = 0;                // with kDone: how often the program has said so
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
  // Lines of $STOKER_SAVES, read after the newest scan; to be called after each, also without any.
  // What begins is known before it is looked at, and what ends is looked at once more.
  void OnTold(const std::vector<std::string>& lines);
  // Of these lines, which say nothing, and why; since the last call.
  std::vector<std::string> TakeRemarks() { return told_.TakeRemarks(); }
  // What lies there now is the restored checkpoint: it counts. `known`: paths of which the store
  // has what lies there. The rest goes with the first checkpoint.
  void OnRestored(const DirectoryScan& scan, const std::set<std::string>& known);
  struct Ended {
    bool clean = false;     // with exit code 0, without having been told to
    bool graceful = false;  // with exit code 0, but it was told to
    bool obeyed = false;    // by itself, with whatever exit code, as it was told to
  };
  void OnEnded(const Ended& how, MonoTime now);

  // What to copy now, judged on the last scan, which must be newer than the last event.
  std::optional<CopyOrder> WantsCopy(MonoTime now);
  // It was copied, and this is what the copies' own bytes show. `live`: paths for whose copies
  // there was no room: the file itself stands for each, while it is as it was.
  void OnCopied(const CopyOrder& order, const std::map<std::string, Proof>& proofs,
                const std::set<std::string>& live = {});
  // What the file `path`, which may name a unit, says; asked for by WantsText.
  std::optional<FileFact> WantsText() const;
  void OnText(const std::string& path, std::string text);

  // What of the copies is a checkpoint now. What it finds while the program lives is remembered: it
  // counts even when the copy cannot be made before the program dies.
  std::optional<Candidate> Decide(MonoTime now);
  // `candidate` is on its way into the store.
  void OnCounted(const Candidate& candidate);
  // `candidate` names what is not in it: not before something changes.
  void OnRefused(const Candidate& candidate);
  // Nothing that counted but was not committed counts any more: copy it again.
  void ForgetTaken();
  // A copy of this path is of use still.
  bool Shelved(const std::string& path) const;

  // Why what has changed is no checkpoint as it lies there, in words that name a file. `kind` is
  // the same for all files that the same keeps back. Empty: nothing keeps it back.
  struct Obstacle {
    std::string kind;
    std::string text;
  };
  Obstacle WhyNotYet(MonoTime now) const;
  // Once, at the first save of an attempt that restored nothing: what of it counts by rest alone,
  // and what would help. Empty: nothing, or not yet.
  std::string TakeUnproven(MonoTime now);
  // Something changed that does not count yet, or the program asked for a commit.
  bool Pending() const;
  // When Decide or WantsCopy may say something new without any event.
  MonoTime NextLook(MonoTime now) const;
  bool done_marked() const { return done_mark_; }
  int64_t cycle() const { return sets_.saves(); }
  MonoTime last_change() const { return seen_.last_change(); }
  // Nothing has changed since the last moment counted, and nothing broke off.
  bool all_taken() const { return !Pending() && (!ended_ || clean_); }
  bool ended_well() const { return ended_ && clean_; }
  // True when the program itself has written anything here in this attempt.
  bool ever_written() const { return seen_.ever_closed(); }

 private:
  // What a set of lines comes to.
  struct Account {
    std::vector<const SaveUnit*> changed;  // units of which something does not count yet
    std::vector<const SaveUnit*>
        earlier;  // of rows: members before the newest that do not count yet
    bool all_closed = true;
    bool all_whole = true;
    bool all_alike = true;  // each has as many files as the save before
    bool all_end = true;    // each ends its save by itself
    bool any_end = false;
    bool unsure = false;
    bool fewer = false;
    MonoTime last_change;
    CandidateReason reason = CandidateReason::kComplete;  // the weakest
  };

  void Evaluate(MonoTime now);
  bool OrderWillShow(MonoTime now) const;
  void RowsChanged();
  std::string UserMarkOf(const SaveUnit& unit) const;
  const SeenFile& FileAt(const std::string& path) const;
  JudgeOptions Options(MonoTime now) const;
  // As its files show it; JudgeUnit: and not while its program says that it goes on.
  UnitVerdict JudgeFiles(const SaveUnit& unit, MonoTime now) const;
  UnitVerdict JudgeUnit(const SaveUnit& unit, MonoTime now) const;
  const ToldSaves::Save* BegunAs(const SaveUnit& unit) const;
  bool IsTold(const SaveUnit& unit) const;
  void NoteTold();
  void NoteEnded(const ToldSaves::Save& told);
  SavedSet SaveOfTold(const ToldSaves::Save& told) const;
  std::optional<Candidate> DecideTold(MonoTime now);
  void Doubt(const ToldSaves::Save& told);
  bool Changed(const SaveUnit& unit) const;
  bool Copied(const SaveUnit& unit) const;
  MonoTime LastChange(const SaveUnit& unit) const;
  Account AccountOf(const std::vector<std::string>& members, MonoTime now) const;
  std::optional<CandidateReason> Counts(const std::vector<std::string>& members,
                                        const Account& account, MonoTime now) const;
  SavedSet SaveOf(const std::vector<const SaveUnit*>& units, CandidateReason reason,
                  MonoTime now) const;
  bool Refused(const SavedSet& saved) const;
  void NoteSaved(MonoTime now);
  bool Settled(MonoTime last_change, MonoTime now) const;
  std::string NamedBy(const SaveUnit& link) const;
  bool LinkLagsBehind(const SaveUnit& unit) const;
  void NoteAlone(int set, const std::vector<std::string>& members, const Account& account,
                 MonoTime now);
  enum class Serving { kReady, kWaits, kLost };
  bool Waits(const SavedSet& saved, int set) const;
  Serving Serve(const SavedSet& saved, MonoTime now) const;
  std::optional<Candidate> DecideDone(MonoTime now);
  bool MetAFullDisk() const;
  std::optional<Candidate> DecideClean(MonoTime now);
  std::optional<Candidate> Make(const SavedSet& saved, MonoTime now) const;
  bool Keeps(const std::string& unit, const std::string& line, const SavedSet& saved,
             MonoTime now) const;
  bool Loose(const SaveUnit& unit) const;
  void AddSteps(const SavedSet& saved, Candidate* out) const;
  bool WorthACopy(const SaveUnit& unit, const UnitVerdict& verdict, MonoTime now) const;
  std::set<std::string> UnitsToCopy(MonoTime now);
  std::set<std::string> PathsToCopy(MonoTime now) const;

  PlanOptions options_;
  Seen seen_;
  Sets sets_;
  SaveUnits units_;
  std::vector<SeenWrite> writes_;  // not followed yet
  // Where what counts lies, by path: its unit and line, and its version.
  struct Place {
    std::string unit;
    std::string line;
    uint64_t version = 0;
  };
  std::map<std::string, Place> base_;
  std::map<std::string, uint64_t> shelf_;       // versions that copies are there of, by path
  std::set<std::string> live_;                  // of these, the files themselves
  std::map<std::string, MonoTime> gone_since_;  // units of `base_` that are not there
  std::set<std::string> marked_units_;          // that were whole by a mark in this attempt
  ToldSaves told_;
  std::vector<ToldSaves::Save> told_ended_;  // that are to be looked at once more
  std::vector<ToldSaves::Save> told_failed_;
  std::vector<SavedSet> told_saved_;  // what lay there when it said that each had ended
  std::optional<SavedSet> done_;      // what lay there when the program said so
  bool said_unproven_ = false;
  bool done_mark_ = false;
  int64_t done_used_ = 0;  // how often
  bool ended_ = false;
  bool clean_ = false;
  bool graceful_ = false;
  bool obeyed_ = false;
  MonoTime ended_at_;
  std::map<std::string, uint64_t> refused_;  // the candidate that named what was not in it
};

}  // namespace stoker

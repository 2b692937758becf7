// SPDX-License-Identifier: Apache-2.0
// Is a unit whole, and what says so? docs/checkpoints.md has the sentences. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/time.h"
#include "checkpoint/rule/seen.h"
#include "checkpoint/rule/unit.h"

namespace stoker {

// What says that a save is whole, as Manifest::reason has it.
enum class CandidateReason {
  kQuiet,     // nothing but rest
  kRenamed,   // it was given its name when it was whole
  kMark,      // the file is there that its layout writes last
  kCounted,   // it has as many files as the save before it had
  kNext,      // its program has begun the next
  kProven,    // its own format shows it
  kComplete,  // kCompleteMark
  kTold,      // the program said so in $STOKER_SAVES
  kDone,      // the program said so by kDoneMark
  kExit,      // the program ended well
};
std::string_view Name(CandidateReason reason);

// What is known of a line from its saves before.
struct LineState {
  size_t files = 0;        // that the save before had when the next began; 0 = there was none
  size_t ranks = 0;        // of these, files that a rank has each
  std::string user_mark;   // the file that the user says its saves end with; "" = none
  bool was_whole = false;  // this unit was whole by a mark before, in this attempt
};

struct JudgeOptions {
  Duration quiet;
  MonoTime now;
  bool ended = false;   // the program has
  bool clean = false;   // with exit code 0, without having been told to
  bool obeyed = false;  // by itself, as it was told to
  // Of one of several nodes: what a layout writes last is on another's disk.
  bool marks_elsewhere = false;
};

struct UnitVerdict {
  enum class Standing {
    kNothing,   // no file with anything in it
    kWriting,   // open, or beside a mark that says that it is not finished
    kDying,     // files of it were deleted
    kUnmarked,  // what should be written last is missing; no rest makes up for it
    kBroken,    // a format shows that a file is cut
    kDoubtful,  // cut short, as far as is known; only its format may vouch for it
    kClosed,    // nothing is open; rest alone speaks for it
    kWhole,
  };
  Standing standing = Standing::kNothing;
  CandidateReason reason = CandidateReason::kQuiet;
  bool ends_save = false;  // by the table or the user: nothing else belongs to this save
  bool link = false;       // it names another, and is nothing by itself
  bool unsure = false;     // nobody saw how the last write of something in it ended
  bool held = false;       // open for long without a sign of change: it holds nothing else up
  bool alike = false;      // it has as many files as the save before, at least
  bool fewer = false;      // it has fewer files than the save before
  std::string file = "";   // that decided it, where one did
  bool whole() const { return standing == Standing::kWhole; }
  bool closed() const { return standing == Standing::kClosed || whole(); }
};
UnitVerdict Judge(const SaveUnit& unit, const Seen& seen, const LineState& facts,
                  const JudgeOptions& options);

// Files of it that one of several ranks has each, where its layout has such.
size_t RanksOf(const SaveUnit& unit);

}  // namespace stoker

// SPDX-License-Identifier: Apache-2.0
// Which lines are saved together, and when such a set has been saved: once each of its lines has
// been, or once the first of them is saved again. Pure.
//
// A line is what is saved again and again: one file, one folder, or a row of either ("step-#").
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/time.h"
#include "checkpoint/rule/judge.h"
#include "checkpoint/rule/seen.h"
#include "checkpoint/rule/unit.h"

namespace stoker {

inline constexpr uint64_t kNoPlace = UINT64_MAX;

struct SaveLine {
  uint64_t first = kNoPlace;  // place of its first save in this attempt
  uint64_t begun = 0;         // of its newest
  int saves = 0;              // in this attempt
  int known = 0;              // saves that it is known of: one more where it was restored
  int set = 0;
  std::string unit;                         // that its newest save is of
  std::map<std::string, uint64_t> written;  // in this save: version by path
  LineState facts;
  bool counted = false;  // its newest save, with all that lies there
  // When its newest save began, by the kernel; 0 = not known.
  int64_t ctime_ns = 0;
  bool found = false;     // nobody heard it begin
  bool unplaced = false;  // and the kernel's times do not tell either where among the others
  bool weak = false;      // SaveUnit::weak, and nothing has shown yet that its members are saves
};

// A set that has been saved: these versions are one save.
struct SavedSet {
  std::map<std::string, uint64_t> versions;  // by path
  std::set<std::string> units;
  std::set<std::string> lines;
  CandidateReason reason = CandidateReason::kNext;
};

// Not thread-safe.
class Sets {
 public:
  // `complete`: KnownRows::complete.
  explicit Sets(Duration quiet, std::string complete = "") : quiet_(quiet) {
    rows_.complete = std::move(complete);
  }

  // What was restored is one save of all its lines, in the order of its files' times.
  void OnRestored(const SaveUnits& units, const Seen& seen);
  // Writes in their order; takes away what it has followed. True: a row turned out to be none, and
  // `units` is to be made anew for the rest.
  bool Follow(std::vector<SeenWrite>* writes, const SaveUnits& units, const Seen& seen);
  // The order of what happened is not known.
  void ForgetOrder();

  // By name; of lines that are gone, too.
  const std::map<std::string, SaveLine>& lines() const { return lines_; }
  SaveLine* Find(const std::string& line);
  // By set: the names of its lines, the one that each round begins with first.
  std::map<int, std::vector<std::string>> Members(const SaveUnits& units) const;
  // Each line of the set was saved since its first was, as far as it was begun.
  bool AllBegun(const std::vector<std::string>& members, const SaveUnits& units,
                const Seen& seen) const;
  // One of them has been saved twice: which lines belong together shows.
  bool Known(const std::vector<std::string>& members) const;
  // A row is among its lines of which nothing shows yet that its members are saves.
  bool Guessed(int set) const;
  const KnownRows& rows() const { return rows_; }
  void KnowLayout(const std::string& line, const Layout* layout) { rows_.layouts[line] = layout; }
  // True: that is news, and `units` is to be made anew.
  bool KnowRotation(const SaveUnits& units);
  // True: that is news.
  bool KnowTrees(const SaveUnits& units);
  // All of the unit that its newest save is of counts now.
  void Counted(const std::string& line);
  void KnowMarked(const std::string& line) { rows_.marked.insert(line); }
  // Sets whose first line was begun again, newest only. Taken away when served or lost.
  std::map<int, SavedSet>& saved() { return saved_; }
  const std::map<int, SavedSet>& saved() const { return saved_; }

  int64_t saves() const { return saves_; }

 private:
  SaveLine* Line(const SaveUnit& unit, const SeenWrite& write);
  void Begins(SaveLine* line, const SaveUnit& unit, const SeenWrite& write);
  bool NotARow(const SaveLine& line, const SaveUnit& unit, const SaveUnits& units,
               const Seen& seen) const;
  bool Continues(const SaveLine& line, const SaveUnit& unit, const SeenWrite& write) const;
  bool IsFirst(const SaveLine& line) const;
  void BeginsAgain(const std::string& name, SaveLine* line, const SeenWrite& write,
                   const SaveUnits& units, const Seen& seen);
  int Split(const std::string& name, const SaveLine& line, const SaveUnits& units,
            const Seen& seen);
  void RoundIsOver(const SaveLine& line, int apart, const SaveUnits& units);
  void ForgetLines();
  void ForgetWorkingName(const std::string& from, const SaveUnits& units);
  uint64_t EndedAt(const SaveLine& line, const SaveUnits& units, const Seen& seen) const;

  Duration quiet_;
  std::map<std::string, SaveLine> lines_;
  std::map<std::string, uint64_t> at_;  // versions as of the last write that was followed
  std::map<int, SavedSet> saved_;
  std::set<int> unsure_;  // sets of whose lines it is not known which was saved first
  KnownRows rows_;
  // Of names that differ in a part's number: those that are there, and the highest that went while
  // higher ones stayed.
  struct Parts {
    std::set<int64_t> there;
    int64_t gone = -1;
  };
  std::map<std::string, Parts> parts_;
  int last_set_ = 0;
  int newest_set_ = 0;  // of the newest save
  int64_t saves_ = 0;
};

}  // namespace stoker

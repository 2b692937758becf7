// SPDX-License-Identifier: Apache-2.0
// What the ledger has of a reconciler that runs at a provider while nobody is at a desk: that it
// was set up, whose turn it is there, what it did last. One object, changed by compare-and-swap.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/time.h"
#include "ledger/ledger.h"
#include "port/away.h"
#include "port/object_store.h"

namespace stoker {

inline constexpr int kAwayFormat = 1;

// Machines that it has asked for: they count as there until the provider's lists show them.
struct AwayAsked {
  std::string what;  // the request, by its job, place and token; or the machine that was started
  int machines = 0;
  WallTime at;
};

struct AwayNote {
  int format = kAwayFormat;
  WallTime installed;   // store's clock, as all times here; 0 = not known
  std::string where;    // AwayPlan::place: "us-east-1", "my-project.us-central1"
  std::string bound;    // for people; what counts is kept beside the reconciler
  std::string version;  // of the stoker that ran last
  std::string turn;     // who runs, "" = nobody
  WallTime turn_until;  // later, it has died
  WallTime looked;      // when all jobs were looked at last; 0 = never
  WallTime swept;
  std::string did;    // the last run, for people
  std::string after;  // the job that had the last turn of a run that had no time for all; "" = none
  int cut_off = 0;    // runs in a row, up to this one's turn, that ended in their middle
  std::vector<AwayAsked> asked;
  std::string extra;  // unknown members, as JSON; preserved
};

struct AwayRead {
  AwayNote note;
  std::optional<Version> version;  // unset: there is none yet
  WallTime store_now;
};

// None is a note of defaults. kTooNew, kCorrupt: it is left as it is.
Result<AwayRead> ReadAway(Ledger& ledger, const std::string& provider);
// In place of what `read` says. kConflict: somebody else was quicker.
Result<AwayRead> WriteAway(Ledger& ledger, const std::string& provider, const AwayRead& read);
// Are both of one region? One of them may be without the project. Pure.
bool IsSamePlace(const std::string& noted, const std::string& place);
// Where to look for what is to be taken away: in the region `named` alone (in the project of `note`
// if the note is of it), unless it is "", else in all that are `noted` and in that of `note`. What
// is of no region stays while the note tells of another one than `named`. Pure.
AwayWhere WhereToTake(const std::string& named, const std::vector<std::string>& noted,
                      const AwayNote& note);
Status RemoveAway(Ledger& ledger, const std::string& provider);
// Providers at which one was set up, sorted.
Result<std::vector<std::string>> AwayProviders(Ledger& ledger);

}  // namespace stoker

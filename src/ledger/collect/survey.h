// SPDX-License-Identifier: Apache-2.0
// What the records of a ledger say, for whoever wants to remove some of it.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/status.h"
#include "ledger/collect/kin.h"
#include "ledger/ledger.h"

namespace stoker {

struct Survey {
  WallTime now;                            // the store's clock
  std::map<std::string, Version> records;  // of all jobs
  std::set<std::string> active;            // with a marker, or not ended by their record
  std::map<std::string, WallTime> over;    // neither: since when
  Kinship kin;                             // of those that can be read, and of those that …
  std::set<std::string> unreadable;        // … cannot, if the index knows how they ended
  // Of those the others: they may need any job.
  std::set<std::string> blind;
  std::map<std::string, std::vector<std::string>> digests;  // of blobs, by job
};

// Makes `survey` what the records say now: reads those that are new or have changed since it was
// last made so, all of an empty one. A list for each thousand records. Errors are the store's.
Status Recheck(Ledger& ledger, const std::function<void(const std::string&)>& progress,
               Survey* survey);

// NeededBy, of those in `going` alone; where a blind record is, which may need any of them, all.
std::map<std::string, std::string> NeededOf(const Survey& survey,
                                            const std::set<std::string>& going);

// Whether nothing is known against removing it: it is over, or has no record.
bool MayGo(const Survey& survey, const std::string& id);

}  // namespace stoker

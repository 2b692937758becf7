// SPDX-License-Identifier: Apache-2.0
// What is to go: lists in the store, an hour before anything on them is removed. Meanwhile whoever
// needs a job takes it off. docs/ledger.md has the format and the protocol.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/status.h"
#include "ledger/ledger.h"

namespace stoker {

// From the moment that a list was written, by the store's clock.
inline constexpr Duration kDoomedFor = Duration::Hours(1);

struct DoomedList {
  std::string key;
  Version version;
  WallTime at;                     // when it was first written
  std::string by;                  // the user who did
  std::vector<std::string> jobs;   // ids
  std::vector<std::string> blobs;  // keys of copies
  // Somebody removes what is on it, or died over it: nothing can be taken off any more.
  bool removing = false;
  std::string extra;
};

struct DoomedRead {
  std::vector<DoomedList> lists;  // the oldest first
  std::vector<OddKey> unread;     // damaged, or of a newer stoker: what is on them stays
  WallTime now;                   // the store's clock
};

inline bool IsDue(const DoomedList& list, WallTime now) {
  return list.removing || now - list.at >= kDoomedFor;
}

// All are thread-safe, and safe in many processes at once. Errors are the store's.

// One list of doomed/, and one read for each list that is there.
Result<DoomedRead> ReadDoomed(Ledger& ledger);

// When each job that is doomed goes at the earliest; of several lists, the first. What is being
// removed has the time of its list.
std::map<std::string, WallTime> GoesAt(const DoomedRead& doomed);

// Writes lists of `jobs` and `blobs`, whole or not at all for each. `now`: the store's clock.
// `removing`: of what goes at once. kNoSpace: nothing is doomed. Returns the lists.
Result<std::vector<DoomedList>> Doom(Ledger& ledger, WallTime now, std::vector<std::string> jobs,
                                     std::vector<std::string> blobs, const std::string& by,
                                     bool removing);

// Reads the list, lets `edit` change it, proposes it by compare-and-swap; again while others win.
// `edit` returns false to leave it as it is. Returns it as it is then; nullopt: it is gone, or
// cannot be read any more.
Result<std::optional<DoomedList>> ChangeDoomed(Ledger& ledger, const std::string& key,
                                               const std::function<bool(DoomedList&)>& edit);
// The list has done its work, or nothing is left on it.
Status DeleteDoomed(Ledger& ledger, const std::string& key);

struct Spared {
  std::set<std::string> spared;  // they were on a list, and are on none any more
  std::set<std::string> late;    // they are being removed
  std::vector<OddKey> unread;    // lists that may hold any of them, as DoomedRead::unread
};
// Takes `jobs` off every list. When it has returned, none of them but the late ones goes within the
// next hour, by whatever was doomed before: a record that needs them may be written until then.
Result<Spared> Spare(Ledger& ledger, const std::set<std::string>& jobs);

}  // namespace stoker

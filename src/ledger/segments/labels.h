// SPDX-License-Identifier: Apache-2.0
// What people say of a job after it was submitted: another name, tags, a note. It lies beside the
// record, which stays as it is: each change is one line of a segment, and of the lines that say the
// same of a job the one with the highest stamp counts. So two who change different things at once
// both have their way, and no change is ever half done. docs/ledger.md has the format.
#pragma once

#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/status.h"
#include "port/cache.h"
#include "port/object_store.h"

namespace stoker {

// Plain data.
struct Labels {
  std::string name;               // "" = it has that of its record
  std::vector<std::string> tags;  // ordered, each once
  std::string note;
};

struct AllLabels {
  std::unordered_map<std::string, Labels> of;  // by job; also such as have no record any more
  std::vector<std::string> warnings;           // for people: what is damaged, and left out
};

inline constexpr size_t kMostNote = 2000;  // bytes

// One change; make it by one of these. `name` and `tag` are IsSafeName; "" takes the other name,
// or the note, away. Of a note control characters are left out, line ends become spaces.
struct LabelChange {
  std::string what;  // "name", "note", "tag:best"
  std::string value;
};
LabelChange Renamed(const std::string& name);
LabelChange Noted(const std::string& text);
LabelChange Tagged(const std::string& tag, bool is_so);

// Where labels lie, and where copies may; null = nowhere.
struct LabelPlace {
  ObjectStore& store;
  Cache* cache = nullptr;
};

// All are thread-safe, and safe in many processes at once. `random`: a name that is never drawn
// again.

Result<AllLabels> ReadLabels(const LabelPlace& place);

// One write; what is said meanwhile of other things stays. Returns what is said of the job then.
Result<Labels> ChangeLabels(const LabelPlace& place, const std::string& job,
                            const std::vector<LabelChange>& changes, const std::string& random);

// Writes small segments together when there are many. Upkeep: again is harmless.
Status MergeLabels(const LabelPlace& place, const std::string& random, int at_least = 32);

// Forgets all that is said of these jobs.
Status DropLabels(const LabelPlace& place, const std::set<std::string>& jobs,
                  const std::string& random);

}  // namespace stoker

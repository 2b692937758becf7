// SPDX-License-Identifier: Apache-2.0
#include "policy/restore.h"

#include <algorithm>
#include <set>

#include "base/deliberate_bug.h"
#include "job/checkpoint_name.h"

namespace stoker {
namespace {

using Names = std::vector<std::string>;

const std::string& FromOf(const Job& job, const Restorable& generations, size_t at) {
  return at == 0 ? job.from : generations[at].from;
}

bool IsSuspect(const Job& job, const std::string& id) {
  return !BugIsOn("suspect-restored") &&
         std::find(job.suspects.begin(), job.suspects.end(), id) != job.suspects.end();
}

// What is asked for, then what is older, then the rest: all of it is better than the beginning.
void PutFirst(const std::string& asked, Names* offers) {
  const auto found = std::find(offers->begin(), offers->end(), asked);
  if (found == offers->end()) {
    offers->insert(offers->begin(), asked);
  } else if (IsAsLeft(asked)) {
    std::rotate(offers->begin(), found, found + 1);
  } else {
    std::rotate(offers->begin(), found, offers->end());
  }
}

// What `at` and its ancestors have to offer, suspects too: a whole one is no reason to take what
// was left, were it no good. `asked`: all that was asked for among them.
Names Order(const Job& job, const Restorable& generations, size_t at,
            std::set<std::string>* asked) {
  if (at == generations.size()) return {};
  Names rest = Order(job, generations, at + 1, asked);
  const std::string& from = FromOf(job, generations, at);
  if (!SplitCheckpointName(from).job.empty()) {
    PutFirst(from, &rest);
    asked->insert(from);
  }
  const Generation& own = generations[at];
  const bool whole_above =
      std::any_of(rest.begin(), rest.end(), [](const std::string& id) { return !IsAsLeft(id); });
  const auto first = std::find_if(rest.begin(), rest.end(),
                                  [&](const std::string& id) { return !IsSuspect(job, id); });
  const bool begins_as_left = first != rest.end() && IsAsLeft(*first);
  const bool as_left = own.whole.empty() && (begins_as_left || !whole_above);
  if (!own.whole.empty()) {
    std::erase_if(rest,
                  [&](const std::string& id) { return IsAsLeft(id) && !asked->contains(id); });
  }
  Names out;
  if (as_left || BugIsOn("as-left-preferred")) {
    for (const std::string& id : own.as_left) out.push_back(JoinCheckpointName(own.job, id));
  }
  for (const std::string& id : own.whole) out.push_back(JoinCheckpointName(own.job, id));
  out.insert(out.end(), rest.begin(), rest.end());
  return out;
}

std::set<std::string> Inherited(const Job& job, const Restorable& generations) {
  std::set<std::string> suspects;
  for (size_t at = 1; at < generations.size(); ++at) {
    if (!FromOf(job, generations, at - 1).empty()) break;
    for (const std::string& id : generations[at].suspects) {
      suspects.insert(JoinCheckpointName(generations[at].job, id));
    }
  }
  return suspects;
}

}  // namespace

std::string ChooseRestore(const Job& job, const Restorable& generations) {
  const std::set<std::string> inherited = Inherited(job, generations);
  std::string last;
  std::set<std::string> asked;
  for (const std::string& id : Order(job, generations, 0, &asked)) {
    if (IsSuspect(job, id)) continue;
    if (inherited.count(id) == 0) return id;
    if (last.empty()) last = id;
  }
  return last;
}

}  // namespace stoker

// SPDX-License-Identifier: Apache-2.0
#include "transfer/sync_plan.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "base/text.h"
#include "base/utf8.h"

namespace stoker {
namespace {

enum class Likeness { kSame, kOther, kUnsure };

Likeness Compare(const ObjectInfo& source, const ObjectInfo& target,
                 const std::map<std::string, KnownPair>& known, const PlanRules& rules) {
  if (source.size != target.size) return Likeness::kOther;
  const auto pair = known.find(source.key);
  if (pair != known.end() && pair->second.target == target.version) {
    return pair->second.source == source.version ? Likeness::kSame : Likeness::kOther;
  }
  if (!rules.target_keeps_times) return Likeness::kUnsure;
  const bool same = source.last_modified == target.last_modified && source.size > rules.doubt_up_to;
  return same ? Likeness::kSame : Likeness::kOther;
}

// `key` or one of the folders that it lies in is among `odd`.
bool Shields(const std::vector<OddKey>& odd, const std::string& key) {
  return std::any_of(odd.begin(), odd.end(), [&](const OddKey& each) {
    return key == each.key || StartsWith(key, each.key + "/");
  });
}

// '/' before everything else, so that a file comes just before what lies below its name.
bool BelowFirst(const ObjectInfo* a, const ObjectInfo* b) {
  return std::lexicographical_compare(
      a->key.begin(), a->key.end(), b->key.begin(), b->key.end(), [](char x, char y) {
        const auto rank = [](char c) { return c == '/' ? 0 : 1 + static_cast<unsigned char>(c); };
        return rank(x) < rank(y);
      });
}

// Out of plan.copy: files whose names are those of folders, too, where a target has no both.
void RefuseFolders(std::vector<const ObjectInfo*> all, SyncPlan* plan) {
  std::sort(all.begin(), all.end(), BelowFirst);
  std::unordered_set<std::string_view> both;
  for (size_t i = 1; i < all.size(); ++i) {
    if (StartsWith(all[i]->key, all[i - 1]->key + "/")) both.insert(all[i - 1]->key);
  }
  if (both.empty()) return;
  std::erase_if(plan->copy, [&](const ObjectInfo& file) {
    if (both.count(file.key) == 0) return false;
    plan->refused.push_back(
        {file.key, Status(Code::kInvalid, "there is a folder of this name in the source, too")});
    return true;
  });
}

// `old`: keys that only the target has.
void PlanRemoval(const SideListing& source, const SideListing& target,
                 const std::vector<std::string>& old, const PlanRules& rules, SyncPlan* plan) {
  const auto taken = [&](const std::string& key) { return !rules.taken || rules.taken(key); };
  plan->replaces = true;
  for (const OddKey& odd : target.odd) {
    if (!taken(odd.key) || !odd.why.Is(Code::kInvalid)) plan->stays.push_back(odd.key);
  }
  for (const ObjectInfo& object : target.objects) {
    if (!taken(object.key)) plan->stays.push_back(object.key);
  }
  for (const std::string& key : old) {
    if (!taken(key)) continue;
    if (Shields(source.odd, key)) {
      plan->stays.push_back(key);
    } else if (const Status why = CheckSyncKey(key, rules); !why.ok()) {
      plan->stays.push_back(key);
      plan->skipped.push_back({key, why.WithContext("not removed from the target")});
    } else {
      plan->remove.push_back(key);
    }
  }
  std::sort(plan->remove.begin(), plan->remove.end());
  std::sort(plan->stays.begin(), plan->stays.end());
}

}  // namespace

Status CheckSyncKey(const std::string& key, const PlanRules& rules) {
  if (!IsSafeRelativePath(key)) {
    return Status(Code::kInvalid, "not the name of a file: an empty part, '.' or '..'");
  }
  if (!rules.any_bytes) {
    if (!IsUtf8(key)) {
      return Status(Code::kInvalid, "its name is not UTF-8, as names in a bucket are");
    }
    for (const char c : key) {
      const auto byte = static_cast<unsigned char>(c);
      if (byte < 0x20 || byte == 0x7f) {
        return Status(Code::kInvalid, "its name has control characters");
      }
    }
  }
  if (rules.most_key > 0 && key.size() > rules.most_key) {
    return Status(Code::kInvalid, "its name is too long: " + std::to_string(key.size()) +
                                      " bytes, of which the bucket takes " +
                                      std::to_string(rules.most_key) + " here");
  }
  for (size_t at = 0; rules.most_part > 0 && at < key.size();) {
    const size_t end = std::min(key.find('/', at), key.size());
    if (end - at > rules.most_part) {
      return Status(Code::kInvalid, "a part of its name is longer than the " +
                                        std::to_string(rules.most_part) +
                                        " bytes that a folder takes");
    }
    at = end + 1;
  }
  return Status::Ok();
}

SyncPlan PlanSync(const SideListing& source, const SideListing& target,
                  const std::map<std::string, KnownPair>& known, const PlanRules& rules) {
  SyncPlan plan;
  const auto taken = [&](const std::string& key) { return !rules.taken || rules.taken(key); };
  for (const OddKey& odd : source.odd) {
    const bool no_file = odd.why.Is(Code::kInvalid);
    if (!no_file) plan.incomplete = true;
    if (taken(odd.key)) (no_file ? plan.skipped : plan.refused).push_back(odd);
  }
  std::unordered_map<std::string, const ObjectInfo*> there;
  there.reserve(target.objects.size());
  for (const ObjectInfo& object : target.objects) there[object.key] = &object;
  std::vector<const ObjectInfo*> possible;
  for (const ObjectInfo& object : source.objects) {
    const auto found = there.find(object.key);
    const ObjectInfo* const other = found == there.end() ? nullptr : found->second;
    if (other != nullptr) there.erase(found);
    if (!taken(object.key)) {
      ++plan.left_out;
      continue;
    }
    if (Status why = CheckSyncKey(object.key, rules); !why.ok()) {
      plan.refused.push_back({object.key, std::move(why)});
      continue;
    }
    if (rules.folders) possible.push_back(&object);
    const Likeness likeness =
        other == nullptr ? Likeness::kOther : Compare(object, *other, known, rules);
    const bool newer = rules.update && other != nullptr && likeness != Likeness::kSame &&
                       other->last_modified > object.last_modified &&
                       other->size > rules.doubt_up_to;
    if (newer) {
      ++plan.newer;
    } else if (likeness == Likeness::kUnsure) {
      plan.unsure.push_back({object, *other});
    } else if (likeness == Likeness::kSame) {
      ++plan.same;
      plan.same_bytes += object.size;
      if (rules.modes && object.executable != other->executable) plan.modes.push_back(object);
    } else {
      plan.copy.push_back(object);
    }
  }
  if (rules.folders) RefuseFolders(std::move(possible), &plan);
  for (const ObjectInfo& file : plan.copy) plan.copy_bytes += file.size;
  std::sort(plan.copy.begin(), plan.copy.end(), [](const ObjectInfo& a, const ObjectInfo& b) {
    return a.size != b.size ? a.size > b.size : a.key < b.key;
  });
  if (!rules.remove || plan.incomplete) return plan;
  std::vector<std::string> old;
  for (const auto& [key, object] : there) old.push_back(key);
  PlanRemoval(source, target, old, rules, &plan);
  return plan;
}

bool MayReplace(const SyncPlan& plan, const std::string& key) {
  if (!plan.replaces || std::binary_search(plan.stays.begin(), plan.stays.end(), key)) return false;
  const auto below = std::lower_bound(plan.stays.begin(), plan.stays.end(), key + "/");
  return below == plan.stays.end() || !StartsWith(*below, key + "/");
}

}  // namespace stoker

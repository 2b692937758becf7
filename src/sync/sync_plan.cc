// SPDX-License-Identifier: Apache-2.0
#include "sync/sync_plan.h"

#include <algorithm>
#include <unordered_map>

#include "base/text.h"

namespace stoker {
namespace {

// A listing's date and an object's time are whole seconds, and a request takes its time.
constexpr Duration kUnsure = Duration::Seconds(2);

class Comparison {
 public:
  Comparison(const SideListing& source, const SideListing& target,
             const std::map<std::string, KnownPair>& known, const PlanRules& rules)
      : known_(known), rules_(rules), ahead_(target.ahead - source.ahead) {}

  bool Same(const ObjectInfo& source, const ObjectInfo& target) const {
    if (source.size != target.size) return false;
    const auto known = known_.find(source.key);
    if (known != known_.end() && known->second.target == target.version) {
      return known->second.source == source.version;
    }
    if (rules_.target_keeps_times) {
      return source.last_modified == target.last_modified && source.size > rules_.doubt_up_to;
    }
    return target.last_modified - ahead_ >= source.last_modified + kUnsure;
  }

 private:
  const std::map<std::string, KnownPair>& known_;
  const PlanRules& rules_;
  const Duration ahead_;  // the target's clock, of the source's
};

// `key` or one of the folders that it lies in is among `odd`.
bool Shields(const std::vector<OddKey>& odd, const std::string& key) {
  return std::any_of(odd.begin(), odd.end(), [&](const OddKey& each) {
    return key == each.key || StartsWith(key, each.key + "/");
  });
}

}  // namespace

Status CheckSyncKey(const std::string& key) {
  if (!IsSafeRelativePath(key)) {
    return Status(Code::kInvalid, "not the name of a file: an empty part, '.' or '..'");
  }
  for (const char c : key) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      return Status(Code::kInvalid, "its name has control characters");
    }
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
  const Comparison compare(source, target, known, rules);
  for (const ObjectInfo& object : source.objects) {
    const auto found = there.find(object.key);
    const ObjectInfo* const other = found == there.end() ? nullptr : found->second;
    if (other != nullptr) there.erase(found);
    if (!taken(object.key)) {
      ++plan.left_out;
    } else if (Status why = CheckSyncKey(object.key); !why.ok()) {
      plan.refused.push_back({object.key, std::move(why)});
    } else if (other != nullptr && compare.Same(object, *other)) {
      ++plan.same;
      plan.same_bytes += object.size;
    } else {
      plan.copy.push_back(object);
      plan.copy_bytes += object.size;
    }
  }
  std::sort(plan.copy.begin(), plan.copy.end(), [](const ObjectInfo& a, const ObjectInfo& b) {
    return a.size != b.size ? a.size > b.size : a.key < b.key;
  });
  if (!rules.remove || plan.incomplete) return plan;
  for (const auto& [key, object] : there) {
    if (taken(key) && CheckSyncKey(key).ok() && !Shields(source.odd, key)) {
      plan.remove.push_back(key);
    }
  }
  std::sort(plan.remove.begin(), plan.remove.end());
  return plan;
}

}  // namespace stoker

// SPDX-License-Identifier: Apache-2.0
#include "ledger/claims.h"

#include <nlohmann/json.hpp>

#include "base/deliberate_bug.h"
#include "job/job.h"
#include "ledger/paths.h"

namespace stoker {
namespace {

std::string Encode(const ClaimHolder& holder) {
  return nlohmann::json({{"format", kRecordFormat},
                         {"instance_id", holder.instance_id},
                         {"boot_id", holder.boot_id},
                         {"launch", holder.launch},
                         {"incarnation", holder.incarnation}})
      .dump();
}

Result<ClaimHolder> Decode(const std::string& key, const std::string& text) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  const auto word = [&](const char* name) {
    return json.is_object() && json.contains(name) && json[name].is_string()
               ? json[name].get<std::string>()
               : std::string();
  };
  ClaimHolder holder{word("instance_id"), word("boot_id"), 0, word("incarnation")};
  if (holder.instance_id.empty() || holder.incarnation.empty()) {
    return Status(Code::kCorrupt, key + ": not a claim");
  }
  if (json.contains("launch") && json["launch"].is_number_integer()) {
    holder.launch = json["launch"].get<int>();
  }
  return holder;
}

}  // namespace

Result<ClaimRead> ClaimAttempt(Ledger& ledger, const std::string& job, int attempt, int slot,
                               const ClaimHolder& me) {
  const std::string key = paths::Claim(job, attempt, slot);
  const auto put = ledger.store().Put(
      key, Encode(me), BugIsOn("claim-overwritten") ? Condition::None() : Condition::Absent());
  if (put.ok()) return ClaimRead{ClaimResult::kWon, me};
  if (!put.status().Is(Code::kExists) && !put.status().transient()) {
    return put.status().WithContext("claiming " + key);
  }
  const auto object = ledger.store().Get(key);
  if (!object.ok()) return put.status().transient() ? put.status() : object.status();
  STOKER_ASSIGN(const ClaimHolder holder, Decode(key, object->data));
  if (holder.incarnation == me.incarnation) return ClaimRead{ClaimResult::kWon, holder};
  const bool same = holder.instance_id == me.instance_id;
  return ClaimRead{same ? ClaimResult::kOursBefore : ClaimResult::kOther, holder};
}

}  // namespace stoker

// SPDX-License-Identifier: Apache-2.0
#include "ledger/claims.h"

#include "base/deliberate_bug.h"
#include "base/json.h"
#include "base/json_fields.h"
#include "job/job.h"
#include "ledger/paths.h"
#include "ledger/segments/read_again.h"

namespace stoker {
namespace {

std::string Encode(const ClaimHolder& holder) {
  return nlohmann::json({{"format", kReportFormat},
                         {"instance_id", holder.instance_id},
                         {"boot_id", holder.boot_id},
                         {"launch", holder.launch},
                         {"incarnation", holder.incarnation}})
      .dump();
}

constexpr size_t kMaxClaim = 64 << 10;

Result<ClaimHolder> Decode(const std::string& key, const std::string& text) {
  STOKER_ASSIGN(const json::Value object, json::ParseObject(key, text, kMaxClaim));
  STOKER_TRY(json::CheckFormat(key, object, kReportFormat));
  ClaimHolder holder;
  json::JsonIn in(object, key + ": ");
  in.Need("instance_id", holder.instance_id);
  in("boot_id", holder.boot_id);
  in("launch", holder.launch);
  in.Need("incarnation", holder.incarnation);
  in.Check(!holder.instance_id.empty(), "instance_id", "is empty");
  in.Check(!holder.incarnation.empty(), "incarnation", "is empty");
  if (!in.status().ok()) return in.status();
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
  const auto read = GetJudged(ledger.store(), key,
                              [&](const Object& object) { return Decode(key, object.data); });
  if (!read.ok() && !MayBeMomentary(read.status()) && put.status().transient()) return put.status();
  STOKER_ASSIGN(const ClaimHolder holder, read);
  if (holder.incarnation == me.incarnation) return ClaimRead{ClaimResult::kWon, holder};
  const bool same = holder.instance_id == me.instance_id;
  return ClaimRead{same ? ClaimResult::kOursBefore : ClaimResult::kOther, holder};
}

}  // namespace stoker

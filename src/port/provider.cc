// SPDX-License-Identifier: Apache-2.0
#include "port/provider.h"

#include <utility>

namespace stoker {
namespace {

Code CodeOf(RefusalClass what) {
  switch (what) {
    case RefusalClass::kCapacity:
    case RefusalClass::kQuota:
      return Code::kNoSpace;
    case RefusalClass::kThrottled:
    case RefusalClass::kNotYetConsistent:
      return Code::kBusy;
    case RefusalClass::kDenied:
      return Code::kDenied;
    case RefusalClass::kInvalid:
      return Code::kInvalid;
    case RefusalClass::kOver:
      return Code::kNotFound;
    case RefusalClass::kUnanswered:
      return Code::kTimeout;
  }
  return Code::kInternal;
}

}  // namespace

InstanceSeen SeenOf(const LaunchRequest& request, int index, std::string id) {
  InstanceSeen seen;
  seen.id = std::move(id);
  seen.token = request.token;
  seen.ledger_id = request.ledger_id;
  seen.job = request.job;
  seen.index = index;
  if (static_cast<size_t>(index) < request.launches.size()) {
    seen.launch = request.launches[static_cast<size_t>(index)];
  }
  return seen;
}

LaunchAnswer::LaunchAnswer(std::vector<std::string> ids)
    : Result<std::vector<std::string>>(std::move(ids)) {}

LaunchAnswer::LaunchAnswer(Status unanswered)
    : Result<std::vector<std::string>>(std::move(unanswered)) {}

LaunchAnswer::LaunchAnswer(Refusal refusal)
    : Result<std::vector<std::string>>(Status(CodeOf(refusal.what), refusal.message)) {
  if (refusal.what != RefusalClass::kUnanswered) refusal_ = std::move(refusal);
}

StartAnswer::StartAnswer(Refusal refusal) : Status(CodeOf(refusal.what), refusal.message) {
  if (refusal.what != RefusalClass::kUnanswered) refusal_ = std::move(refusal);
}

}  // namespace stoker

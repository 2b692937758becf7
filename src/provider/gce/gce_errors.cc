// SPDX-License-Identifier: Apache-2.0
#include "provider/gce/gce_errors.h"

#include <algorithm>
#include <string_view>

#include "base/text.h"

namespace stoker::gce {
namespace {

using Class = RefusalClass;
using Scope = RefusalScope;

struct Row {
  std::string_view code;  // "" = any
  std::string_view says;  // part of the message; "" = whatever it says
  Class what;
  Scope scope;
  int64_t wait_s = 0;
  std::string_view next = "";  // what a person can do
};

constexpr std::string_view kQuotaNext =
    "Ask for more at https://console.cloud.google.com/iam-admin/quotas, or name another region";
constexpr std::string_view kRightsNext =
    "'stoker doctor --iam --infra gcp' prints the rights that are needed";
constexpr std::string_view kScopeNext =
    "Log in with 'gcloud auth application-default login'; a VM needs the scope cloud-platform";
constexpr std::string_view kApiNext =
    "Switch the API on, and wait some minutes: gcloud services enable compute.googleapis.com";
constexpr std::string_view kBillingNext =
    "Link the project to a billing account: https://console.cloud.google.com/billing/projects";
constexpr std::string_view kAccountNext =
    "Let whoever submits act as that account: roles/iam.serviceAccountUser";
constexpr std::string_view kLoginNext = "Log in again: gcloud auth application-default login";
constexpr std::string_view kNetworkNext = "Make the subnetwork larger, or name another region";
constexpr std::string_view kPlacementNext =
    "Name a type that takes a compact placement policy, as c2 or a2, or remove 'gcp.placement'";
constexpr std::string_view kFewerNext =
    "Ask for fewer nodes, or for another type, or remove 'gcp.placement'";
constexpr std::string_view kPolicyNext =
    "Your organization forbids it; gcp.external_ip and gcp.network may help";

// "No more than 22 instances of machine type h3-standard-88 can be created with this policy."
constexpr std::string_view kMostInPolicy = "can be created with this policy";

// The first that fits counts.
constexpr Row kRows[] = {
    // No room at this moment.
    {"ZONE_RESOURCE_POOL_EXHAUSTED", "", Class::kCapacity, Scope::kZone},
    {"ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS", "", Class::kCapacity, Scope::kZone},
    {"", "does not have enough resources available", Class::kCapacity, Scope::kZone},
    {"VM_MIN_COUNT_NOT_REACHED", "", Class::kCapacity, Scope::kZone},
    {"RESOURCE_POOL_EXHAUSTED", "", Class::kCapacity, Scope::kZone},
    {"IP_SPACE_EXHAUSTED", "", Class::kCapacity, Scope::kRegion, 0, kNetworkNext},
    {"IP_SPACE_EXHAUSTED_WITH_DETAILS", "", Class::kCapacity, Scope::kRegion, 0, kNetworkNext},
    {"", kMostInPolicy, Class::kCapacity, Scope::kZone},
    // Too many requests: quotas, too, but of time.
    {"rateLimitExceeded", "", Class::kThrottled, Scope::kAccount},
    {"RATE_LIMIT_EXCEEDED", "", Class::kThrottled, Scope::kAccount},
    {"userRateLimitExceeded", "", Class::kThrottled, Scope::kAccount},
    {"RESOURCE_OPERATION_RATE_EXCEEDED", "", Class::kThrottled, Scope::kAccount},
    {"dailyLimitExceeded", "", Class::kThrottled, Scope::kAccount, 3600},
    // The project may not have so much.
    {"QUOTA_EXCEEDED", "globally", Class::kQuota, Scope::kAccount, 0, kQuotaNext},
    {"quotaExceeded", "globally", Class::kQuota, Scope::kAccount, 0, kQuotaNext},
    {"QUOTA_EXCEEDED", "", Class::kQuota, Scope::kRegion, 0, kQuotaNext},
    {"quotaExceeded", "", Class::kQuota, Scope::kRegion, 0, kQuotaNext},
    {"limitExceeded", "", Class::kQuota, Scope::kRegion, 0, kQuotaNext},
    // Whoever asked may not.
    {"SERVICE_DISABLED", "", Class::kDenied, Scope::kAccount, 0, kApiNext},
    {"accessNotConfigured", "", Class::kDenied, Scope::kAccount, 0, kApiNext},
    {"BILLING_DISABLED", "", Class::kDenied, Scope::kAccount, 0, kBillingNext},
    {"billingNotEnabled", "", Class::kDenied, Scope::kAccount, 0, kBillingNext},
    {"", "billing disabled", Class::kDenied, Scope::kAccount, 0, kBillingNext},
    {"ACCESS_TOKEN_SCOPE_INSUFFICIENT", "", Class::kDenied, Scope::kAccount, 0, kScopeNext},
    {"", "insufficient authentication scopes", Class::kDenied, Scope::kAccount, 0, kScopeNext},
    {"SERVICE_ACCOUNT_ACCESS_DENIED", "", Class::kDenied, Scope::kAccount, 0, kAccountNext},
    {"PERMISSIONS_ERROR", "", Class::kDenied, Scope::kAccount, 0, kRightsNext},
    {"insufficientPermissions", "", Class::kDenied, Scope::kAccount, 0, kRightsNext},
    {"forbidden", "", Class::kDenied, Scope::kAccount, 0, kRightsNext},
    {"authError", "", Class::kDenied, Scope::kAccount, 0, kLoginNext},
    // It names what was made a moment ago, or is still being taken away.
    {"notFound", "/serviceAccounts/", Class::kNotYetConsistent, Scope::kRequest},
    {"RESOURCE_NOT_READY", "", Class::kNotYetConsistent, Scope::kRequest},
    {"resourceNotReady", "", Class::kNotYetConsistent, Scope::kRequest},
    {"resourceInUseByAnotherResource", "", Class::kNotYetConsistent, Scope::kRequest},
    {"notFound", "/resourcePolicies/", Class::kNotYetConsistent, Scope::kRequest},
    {"RESOURCE_NOT_FOUND", "/resourcePolicies/", Class::kNotYetConsistent, Scope::kRequest},
    // Nobody can be given this in that zone.
    {"", "does not exist in zone", Class::kInvalid, Scope::kZone},
    {"", "/acceleratorTypes/", Class::kInvalid, Scope::kZone},
    {"", "Unknown zone", Class::kInvalid, Scope::kZone},
    // Nobody can be given this at all.
    {"", "lacement policy is not applicable", Class::kInvalid, Scope::kRequest, 0, kPlacementNext},
    {"conditionNotMet", "", Class::kInvalid, Scope::kRequest, 0, kPolicyNext},
    {"CONDITION_NOT_MET", "", Class::kInvalid, Scope::kRequest, 0, kPolicyNext},
};

const Row* Find(const Failure& failure) {
  for (const Row& row : kRows) {
    const bool code = row.code.empty() || row.code == failure.code || row.code == failure.detail;
    if (!code || (row.code.empty() && failure.message.empty())) continue;
    if (failure.message.find(row.says) != std::string::npos) return &row;
  }
  return nullptr;
}

std::string Words(const Failure& failure, std::string_view next) {
  std::string text = failure.code;
  if (!failure.detail.empty() && failure.detail != failure.code) text += " " + failure.detail;
  if (!failure.message.empty()) text += ": " + failure.message;
  if (next.empty()) return text;
  return text + (EndsWith(text, ".") ? " " : ". ") + std::string(next);
}

Refusal Make(Class what, Scope scope, int64_t wait_s, std::string message) {
  Refusal refusal;
  refusal.what = what;
  refusal.scope = scope;
  refusal.wait = Duration::Seconds(wait_s);
  refusal.message = std::move(message);
  return refusal;
}

// As many as one policy holds; unset where it does not say.
std::optional<int64_t> MostInPolicy(const std::string& said) {
  constexpr std::string_view kBefore = "No more than ";
  const size_t at = said.find(kBefore);
  if (at == std::string::npos || said.find(kMostInPolicy) == std::string::npos) return {};
  const std::string rest = said.substr(at + kBefore.size());
  return WholeNumber(rest.substr(0, rest.find(' ')), 0, 1'000'000);
}

Refusal Read(const Failure& failure, size_t machines) {
  const auto most = MostInPolicy(failure.message);
  if (most && *most < static_cast<int64_t>(machines)) {
    const std::string_view next = *most == 0 ? kPlacementNext : kFewerNext;
    return Make(Class::kInvalid, Scope::kRequest, 0, Words(failure, next));
  }
  const Row* row = Find(failure);
  if (row != nullptr) return Make(row->what, row->scope, row->wait_s, Words(failure, row->next));
  if (failure.status == 429) {
    return Make(Class::kThrottled, Scope::kAccount, 0, Words(failure, ""));
  }
  if (failure.status == 401 || failure.status == 403) {
    return Make(Class::kDenied, Scope::kAccount, 0, Words(failure, kRightsNext));
  }
  return Make(Class::kInvalid, Scope::kRequest, 0, Words(failure, ""));
}

bool IsNoAnswer(const Failure& failure) {
  if (failure.status == 429) return false;
  if (failure.code.empty() || failure.status >= 500) return Find(failure) == nullptr;
  return failure.code == "backendError" || failure.code == "internalError";
}

}  // namespace

std::optional<Refusal> RefusalOf(const Failure& failure, size_t machines) {
  if (IsNoAnswer(failure)) return std::nullopt;
  return Read(failure, machines);
}

Refusal RefusalOfOperation(const std::vector<Failure>& errors, size_t machines) {
  if (errors.empty()) return Make(Class::kCapacity, Scope::kZone, 0, "it failed without a word");
  // That too few came says nothing of why.
  const auto says_why = [](const Failure& each) { return each.code != "VM_MIN_COUNT_NOT_REACHED"; };
  const auto first = std::find_if(errors.begin(), errors.end(), says_why);
  const Failure& failure = first == errors.end() ? errors.front() : *first;
  // Google's own fault: of the zone, as far as anybody is told.
  const bool internal = Find(failure) == nullptr && failure.status != 400 &&
                        (failure.status >= 500 || StartsWith(failure.code, "INTERNAL"));
  if (internal) return Make(Class::kCapacity, Scope::kZone, 0, Words(failure, ""));
  return Read(failure, machines);
}

Status StatusOf(const std::string& what, const Failure& failure) {
  const std::string said = failure.code.empty() && failure.message.empty()
                               ? "it answered " + std::to_string(failure.status)
                               : Words(failure, "");
  const std::string text = what + ": " + said;
  if (IsNoAnswer(failure)) return Status(Code::kUnavailable, text);
  const Row* row = Find(failure);
  if (failure.status == 404 && (row == nullptr || row->what == Class::kInvalid)) {
    return Status(Code::kNotFound, text);
  }
  const std::string next(row == nullptr ? "" : row->next);
  switch (Read(failure, 1).what) {
    case Class::kThrottled:
    case Class::kNotYetConsistent:
      return Status(Code::kBusy, text, next);
    case Class::kDenied:
      return Status(Code::kDenied, text, next.empty() ? std::string(kRightsNext) : next);
    case Class::kCapacity:
    case Class::kQuota:
      return Status(Code::kNoSpace, text, next);
    default:
      return Status(Code::kInvalid, text, next);
  }
}

bool IsThere(const Failure& failure) {
  return failure.code == "alreadyExists" || failure.code == "RESOURCE_ALREADY_EXISTS" ||
         failure.status == 409;
}

bool IsOtherRequest(const Failure& failure) {
  return failure.status == 400 && failure.message.find("requestId") != std::string::npos;
}

bool RefusesNotice(const Failure& failure) {
  for (const char* name : {"preemptionNoticeDuration", "preemption_notice_duration"}) {
    if (failure.message.find(name) != std::string::npos) return true;
  }
  return false;
}

bool IsUnauthenticated(const Failure& failure) { return failure.status == 401; }

}  // namespace stoker::gce

// SPDX-License-Identifier: Apache-2.0
#include "provider/gce/gce_errors.h"

#include <algorithm>
#include <string_view>

#include "base/text.h"

namespace stoker::gce {
namespace {

using Class = RefusalClass;
using Scope = RefusalScope;

constexpr std::string_view kQuotaNext =
    "Ask for more at https://console.cloud.google.com/iam-admin/quotas, or name another region";
constexpr std::string_view kNoQuotaNext =
    "The quota is 0, so the job waits until it is raised, and for ever where it is not: "
    "https://console.cloud.google.com/iam-admin/quotas, or gcloud beta quotas preferences create "
    "--service compute.googleapis.com --project PROJECT --quota-id QUOTA --preferred-value N";
constexpr std::string_view kRoomNext =
    "Other zones are asked, and this one again later; another type may have room";
constexpr std::string_view kSlowlyNext = "It is asked again, more slowly";
constexpr std::string_view kSoonNext =
    "It was made just now, or is gone: it is asked again for some minutes";
constexpr std::string_view kZoneNext = "Other zones are asked; or name another type";
constexpr std::string_view kRightsNext =
    "'stoker doctor --iam --infra gcp' prints the rights that are needed";
constexpr std::string_view kScopeNext =
    "Log in with 'gcloud auth application-default login'; a VM needs the scope cloud-platform";
constexpr std::string_view kApiNext =
    "Switch the API on, which takes some minutes to be known everywhere: gcloud services enable "
    "compute.googleapis.com";
constexpr std::string_view kBillingNext =
    "Link the project to a billing account: https://console.cloud.google.com/billing/projects";
constexpr std::string_view kAccountNext =
    "Let whoever submits act as that account; a right that was given just now takes some minutes: "
    "gcloud iam service-accounts add-iam-policy-binding ACCOUNT --member user:NAME --role "
    "roles/iam.serviceAccountUser";
constexpr std::string_view kLoginNext = "Log in again: gcloud auth application-default login";
constexpr std::string_view kNetworkNext = "Make the subnetwork larger, or name another region";
constexpr std::string_view kPlacementNext =
    "Name a type that takes a compact placement policy, as c2 or a2, or remove 'gcp.placement'";
constexpr std::string_view kFewerNext =
    "Ask for fewer nodes, or for another type, or remove 'gcp.placement'";
constexpr std::string_view kPolicyNext =
    "Your organization forbids it; gcp.external_ip and gcp.network may help";
constexpr std::string_view kAddressNext =
    "Your organization allows no external addresses: gcp.external_ip: false, in a subnetwork with "
    "Private Google Access (gcloud compute networks subnets update SUBNET --region REGION "
    "--enable-private-ip-google-access) and, for what programs fetch, Cloud NAT";
constexpr std::string_view kNoNetworkNext =
    "There is no such network, or it is made just now: gcloud compute networks create default "
    "--subnet-mode auto, and a rule that lets nodes reach each other: gcloud compute "
    "firewall-rules "
    "create default-allow-internal --network default --allow tcp,udp,icmp --source-ranges "
    "10.128.0.0/9; "
    "or name another by gcp.network";
constexpr std::string_view kNoAccountNext =
    "The account of the VMs does not exist, or was made a minute ago: it is asked again for some "
    "minutes; gcloud iam service-accounts create stoker --project PROJECT";

// "No more than 22 instances of machine type h3-standard-88 can be created with this policy."
constexpr std::string_view kMostInPolicy = "can be created with this policy";

// The first that fits counts.
constexpr cloud::RefusalRow kRows[] = {
    // No room at this moment.
    {"ZONE_RESOURCE_POOL_EXHAUSTED", "", Class::kCapacity, Scope::kZone, 0, kRoomNext},
    {"ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS", "", Class::kCapacity, Scope::kZone, 0, kRoomNext},
    {"", "does not have enough resources available", Class::kCapacity, Scope::kZone, 0, kRoomNext},
    {"VM_MIN_COUNT_NOT_REACHED", "", Class::kCapacity, Scope::kZone, 0, kRoomNext},
    {"RESOURCE_POOL_EXHAUSTED", "", Class::kCapacity, Scope::kZone, 0, kRoomNext},
    {"IP_SPACE_EXHAUSTED", "", Class::kCapacity, Scope::kRegion, 0, kNetworkNext},
    {"IP_SPACE_EXHAUSTED_WITH_DETAILS", "", Class::kCapacity, Scope::kRegion, 0, kNetworkNext},
    {"", kMostInPolicy, Class::kCapacity, Scope::kZone, 0, kRoomNext},
    // Too many requests: quotas, too, but of time.
    {"rateLimitExceeded", "", Class::kThrottled, Scope::kAccount, 0, kSlowlyNext},
    {"RATE_LIMIT_EXCEEDED", "", Class::kThrottled, Scope::kAccount, 0, kSlowlyNext},
    {"userRateLimitExceeded", "", Class::kThrottled, Scope::kAccount, 0, kSlowlyNext},
    {"RESOURCE_OPERATION_RATE_EXCEEDED", "", Class::kThrottled, Scope::kAccount, 0, kSlowlyNext},
    {"dailyLimitExceeded", "", Class::kThrottled, Scope::kAccount, 3600, kSlowlyNext},
    // The project may not have so much.
    {"QUOTA_EXCEEDED", "Limit: 0.0 globally", Class::kQuota, Scope::kAccount, 0, kNoQuotaNext},
    {"quotaExceeded", "Limit: 0.0 globally", Class::kQuota, Scope::kAccount, 0, kNoQuotaNext},
    {"QUOTA_EXCEEDED", "globally", Class::kQuota, Scope::kAccount, 0, kQuotaNext},
    {"quotaExceeded", "globally", Class::kQuota, Scope::kAccount, 0, kQuotaNext},
    {"QUOTA_EXCEEDED", "Limit: 0.0 in region", Class::kQuota, Scope::kRegion, 0, kNoQuotaNext},
    {"quotaExceeded", "Limit: 0.0 in region", Class::kQuota, Scope::kRegion, 0, kNoQuotaNext},
    {"QUOTA_EXCEEDED", "", Class::kQuota, Scope::kRegion, 0, kQuotaNext},
    {"quotaExceeded", "", Class::kQuota, Scope::kRegion, 0, kQuotaNext},
    {"limitExceeded", "", Class::kQuota, Scope::kRegion, 0, kQuotaNext},
    // It names what was made a moment ago, or is still being taken away.
    {"", "has not been used in project", Class::kNotYetConsistent, Scope::kRequest, 0, kApiNext},
    {"", "referenced network resource cannot be found", Class::kNotYetConsistent, Scope::kRequest,
     0, kNoNetworkNext},
    {"SERVICE_ACCOUNT_ACCESS_DENIED", "", Class::kNotYetConsistent, Scope::kRequest, 0,
     kAccountNext},
    {"notFound", "/serviceAccounts/", Class::kNotYetConsistent, Scope::kRequest, 0, kNoAccountNext},
    {"", "does not exist in project, or", Class::kNotYetConsistent, Scope::kRequest, 0,
     kNoAccountNext},
    {"RESOURCE_NOT_READY", "", Class::kNotYetConsistent, Scope::kRequest, 0, kSoonNext},
    {"resourceNotReady", "", Class::kNotYetConsistent, Scope::kRequest, 0, kSoonNext},
    {"resourceInUseByAnotherResource", "", Class::kNotYetConsistent, Scope::kRequest, 0, kSoonNext},
    {"notFound", "/resourcePolicies/", Class::kNotYetConsistent, Scope::kRequest, 0, kSoonNext},
    {"RESOURCE_NOT_FOUND", "/resourcePolicies/", Class::kNotYetConsistent, Scope::kRequest, 0,
     kSoonNext},
    // Whoever asked may not.
    {"SERVICE_DISABLED", "", Class::kDenied, Scope::kAccount, 0, kApiNext},
    {"accessNotConfigured", "", Class::kDenied, Scope::kAccount, 0, kApiNext},
    {"BILLING_DISABLED", "", Class::kDenied, Scope::kAccount, 0, kBillingNext},
    {"billingNotEnabled", "", Class::kDenied, Scope::kAccount, 0, kBillingNext},
    {"accountDisabled", "", Class::kDenied, Scope::kAccount, 0, kBillingNext},
    {"", "billing disabled", Class::kDenied, Scope::kAccount, 0, kBillingNext},
    {"ACCESS_TOKEN_SCOPE_INSUFFICIENT", "", Class::kDenied, Scope::kAccount, 0, kScopeNext},
    {"", "insufficient authentication scopes", Class::kDenied, Scope::kAccount, 0, kScopeNext},
    {"", "iam.serviceAccounts.actAs", Class::kDenied, Scope::kAccount, 0, kAccountNext},
    {"", "iam.serviceaccounts.actAs", Class::kDenied, Scope::kAccount, 0, kAccountNext},
    {"PERMISSIONS_ERROR", "", Class::kDenied, Scope::kAccount, 0, kRightsNext},
    {"insufficientPermissions", "", Class::kDenied, Scope::kAccount, 0, kRightsNext},
    {"forbidden", "", Class::kDenied, Scope::kAccount, 0, kRightsNext},
    {"authError", "", Class::kDenied, Scope::kAccount, 0, kLoginNext},
    // Nobody can be given this in that zone.
    {"", "does not exist in zone", Class::kInvalid, Scope::kZone, 0, kZoneNext},
    {"", "/acceleratorTypes/", Class::kInvalid, Scope::kZone, 0, kZoneNext},
    {"", "Unknown zone", Class::kInvalid, Scope::kZone, 0, kZoneNext},
    // Nobody can be given this at all.
    {"", "/global/networks/", Class::kInvalid, Scope::kRequest, 0, kNoNetworkNext},
    {"", "lacement policy is not applicable", Class::kInvalid, Scope::kRequest, 0, kPlacementNext},
    {"", "compute.vmExternalIpAccess", Class::kInvalid, Scope::kRequest, 0, kAddressNext},
    {"conditionNotMet", "", Class::kInvalid, Scope::kRequest, 0, kPolicyNext},
    {"CONDITION_NOT_MET", "", Class::kInvalid, Scope::kRequest, 0, kPolicyNext},
};

const cloud::RefusalRow* Find(const Failure& failure) {
  for (const cloud::RefusalRow& row : kRows) {
    if (cloud::Fits(row, failure.code, failure.message)) return &row;
    if (!row.code.empty() && cloud::Fits(row, failure.detail, failure.message)) return &row;
  }
  return nullptr;
}

// What a person types, with the names that Google's words have: "Quota 'GPUS_ALL_REGIONS'
// exceeded.  Limit: 0.0 globally."
std::string Filled(std::string_view next, const std::string& said) {
  std::string text(next);
  constexpr std::string_view kMark = "Quota '";
  const size_t at = said.find(kMark);
  const size_t end = at == std::string::npos ? at : said.find('\'', at + kMark.size());
  const size_t name = text.find("QUOTA");
  if (end == std::string::npos || name == std::string::npos) return text;
  std::string quota = said.substr(at + kMark.size(), end - at - kMark.size());
  std::replace(quota.begin(), quota.end(), '_', '-');
  const bool everywhere = said.find("globally") != std::string::npos;
  text.replace(name, 5, quota + (everywhere ? "-per-project" : "-per-project-region"));
  constexpr std::string_view kRegion = "in region ";
  const size_t region = said.find(kRegion);
  if (everywhere || region == std::string::npos) return text;
  const size_t begin = region + kRegion.size();
  return text +
         " --dimensions region=" + said.substr(begin, said.find_first_of(". ", begin) - begin);
}

std::string Words(const Failure& failure, std::string_view next) {
  std::string code = failure.code;
  if (!failure.detail.empty() && failure.detail != failure.code) code += " " + failure.detail;
  return cloud::RefusalText(code, failure.message, Filled(next, failure.message));
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
    return cloud::MakeRefusal(Class::kInvalid, Scope::kRequest, 0, Words(failure, next));
  }
  const cloud::RefusalRow* row = Find(failure);
  if (row != nullptr)
    return cloud::MakeRefusal(row->what, row->scope, row->wait_s, Words(failure, row->next));
  if (failure.status == 429) {
    return cloud::MakeRefusal(Class::kThrottled, Scope::kAccount, 0, Words(failure, ""));
  }
  if (failure.status == 401 || failure.status == 403) {
    return cloud::MakeRefusal(Class::kDenied, Scope::kAccount, 0, Words(failure, kRightsNext));
  }
  return cloud::MakeRefusal(Class::kInvalid, Scope::kRequest, 0, Words(failure, ""));
}

bool IsNoAnswer(const Failure& failure) {
  if (failure.status == 429) return false;
  if (failure.code.empty() || failure.status >= 500) return Find(failure) == nullptr;
  return failure.code == "backendError" || failure.code == "internalError";
}

}  // namespace

std::span<const cloud::RefusalRow> RefusalRows() { return kRows; }

std::optional<Refusal> RefusalOf(const Failure& failure, size_t machines) {
  if (IsNoAnswer(failure)) return std::nullopt;
  return Read(failure, machines);
}

Refusal RefusalOfOperation(const std::vector<Failure>& errors, size_t machines) {
  if (errors.empty())
    return cloud::MakeRefusal(Class::kCapacity, Scope::kZone, 0, "it failed without a word");
  // That too few came says nothing of why.
  const auto says_why = [](const Failure& each) { return each.code != "VM_MIN_COUNT_NOT_REACHED"; };
  const auto first = std::find_if(errors.begin(), errors.end(), says_why);
  const Failure& failure = first == errors.end() ? errors.front() : *first;
  // Google's own fault: of the zone, as far as anybody is told.
  const bool internal = Find(failure) == nullptr && failure.status != 400 &&
                        (failure.status >= 500 || StartsWith(failure.code, "INTERNAL"));
  if (internal) return cloud::MakeRefusal(Class::kCapacity, Scope::kZone, 0, Words(failure, ""));
  return Read(failure, machines);
}

Status StatusOf(const std::string& what, const Failure& failure) {
  const std::string said = failure.code.empty() && failure.message.empty()
                               ? "it answered " + std::to_string(failure.status)
                               : Words(failure, "");
  const std::string text = what + ": " + said;
  if (IsNoAnswer(failure)) return Status(Code::kUnavailable, text);
  const cloud::RefusalRow* row = Find(failure);
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

// SPDX-License-Identifier: Apache-2.0
#include "provider/ec2/api/ec2_errors.h"

#include "base/text.h"

namespace stoker::ec2 {
namespace {

using Class = RefusalClass;
using Scope = RefusalScope;

struct Row {
  std::string_view code;
  Class what;
  Scope scope;
  int64_t wait_s = 0;
  std::string_view next = "";  // what a person can do
};

constexpr std::string_view kQuotaNext =
    "Ask for more at https://console.aws.amazon.com/servicequotas (EC2), or name another region";
constexpr std::string_view kKeysNext = "Check the keys: 'aws sts get-caller-identity'";
constexpr std::string_view kRightsNext = "'stoker doctor --iam' prints the rights that are needed";
constexpr std::string_view kSubnetNext = "Name another zone, or make its subnet larger";

constexpr Row kRows[] = {
    // No room at this moment.
    {"InsufficientInstanceCapacity", Class::kCapacity, Scope::kZone},
    {"InsufficientCapacity", Class::kCapacity, Scope::kZone},
    {"InsufficientHostCapacity", Class::kCapacity, Scope::kZone},
    {"InsufficientCapacityOnHost", Class::kCapacity, Scope::kZone},
    {"InsufficientReservedInstanceCapacity", Class::kCapacity, Scope::kZone},
    {"InsufficientVolumeCapacity", Class::kCapacity, Scope::kZone},
    {"InsufficientFreeAddressesInSubnet", Class::kCapacity, Scope::kZone, 0, kSubnetNext},
    {"ReservationCapacityExceeded", Class::kCapacity, Scope::kZone},
    {"UnfulfillableCapacity", Class::kCapacity, Scope::kZone},
    {"Unsupported", Class::kCapacity, Scope::kZone},
    {"VolumeTypeNotAvailableInZone", Class::kCapacity, Scope::kZone},
    {"SpotMaxPriceTooLow", Class::kCapacity, Scope::kMarket},
    // The account may not have so much.
    {"VcpuLimitExceeded", Class::kQuota, Scope::kRegion, 0, kQuotaNext},
    {"InstanceLimitExceeded", Class::kQuota, Scope::kRegion, 0, kQuotaNext},
    {"MaxSpotInstanceCountExceeded", Class::kQuota, Scope::kRegion, 0, kQuotaNext},
    {"VolumeLimitExceeded", Class::kQuota, Scope::kRegion, 0, kQuotaNext},
    {"MaxIOPSLimitExceeded", Class::kQuota, Scope::kRegion, 0, kQuotaNext},
    {"NetworkInterfaceLimitExceeded", Class::kQuota, Scope::kRegion, 0, kQuotaNext},
    {"PrivateIpAddressLimitExceeded", Class::kQuota, Scope::kRegion, 0, kQuotaNext},
    {"PlacementGroupLimitExceeded", Class::kQuota, Scope::kRegion, 0, kQuotaNext},
    {"PendingVerification", Class::kQuota, Scope::kRegion, 600,
     "Amazon checks the account; that takes minutes to hours"},
    // Too many requests.
    {"RequestLimitExceeded", Class::kThrottled, Scope::kAccount},
    {"Throttling", Class::kThrottled, Scope::kAccount},
    {"ThrottlingException", Class::kThrottled, Scope::kAccount},
    {"EC2ThrottledException", Class::kThrottled, Scope::kAccount},
    {"RequestThrottled", Class::kThrottled, Scope::kAccount},
    // Whoever asked may not.
    {"UnauthorizedOperation", Class::kDenied, Scope::kAccount, 0, kRightsNext},
    {"AccessDenied", Class::kDenied, Scope::kAccount, 0, kRightsNext},
    {"AccessDeniedException", Class::kDenied, Scope::kAccount, 0, kRightsNext},
    {"AuthFailure", Class::kDenied, Scope::kAccount, 0, kKeysNext},
    {"InvalidClientTokenId", Class::kDenied, Scope::kAccount, 0, kKeysNext},
    {"UnrecognizedClientException", Class::kDenied, Scope::kAccount, 0, kKeysNext},
    {"SignatureDoesNotMatch", Class::kDenied, Scope::kAccount, 0, kKeysNext},
    {"IncompleteSignature", Class::kDenied, Scope::kAccount, 0, kKeysNext},
    {"MissingAuthenticationToken", Class::kDenied, Scope::kAccount, 0, kKeysNext},
    {"ExpiredToken", Class::kDenied, Scope::kAccount, 0, "Log in again"},
    {"ExpiredTokenException", Class::kDenied, Scope::kAccount, 0, "Log in again"},
    {"RequestExpired", Class::kDenied, Scope::kAccount, 0,
     "Log in again, or set this machine's clock"},
    {"Blocked", Class::kDenied, Scope::kAccount, 0, "Ask Amazon's support: the account is blocked"},
    {"OptInRequired", Class::kDenied, Scope::kAccount, 0,
     "Subscribe to the image in the marketplace, or enable the region for the account"},
    // It names what was made a moment ago. (A profile: see below.)
    {"InvalidGroup.NotFound", Class::kNotYetConsistent, Scope::kRequest},
    {"InvalidSecurityGroupID.NotFound", Class::kNotYetConsistent, Scope::kRequest},
    {"InvalidLaunchTemplateId.NotFound", Class::kNotYetConsistent, Scope::kRequest},
    {"InvalidPlacementGroup.Unknown", Class::kNotYetConsistent, Scope::kRequest},
    // Its machines have come and gone; another request may be made of other parameters.
    {"IdempotentInstanceTerminated", Class::kOver, Scope::kRequest},
    {"IdempotentParameterMismatch", Class::kOver, Scope::kRequest},
    // Nobody can be given this in that zone.
    {"InvalidZone.NotFound", Class::kInvalid, Scope::kZone},
    {"InvalidAvailabilityZone", Class::kInvalid, Scope::kZone},
    {"InvalidSubnetID.NotFound", Class::kInvalid, Scope::kZone},
    {"InvalidSubnet", Class::kInvalid, Scope::kZone},
};

const Row* Find(std::string_view code) {
  // "Client.InternalError", "Server.InsufficientInstanceCapacity": the side is not of the name.
  for (const char* side : {"Client.", "Server."}) {
    if (StartsWith(code, side)) code.remove_prefix(7);
  }
  for (const Row& row : kRows) {
    if (row.code == code) return &row;
  }
  return nullptr;
}

std::string Words(const Failure& failure, std::string_view next) {
  std::string text = failure.code;
  if (!failure.message.empty()) text += ": " + failure.message;
  if (next.empty()) return text;
  return text + (EndsWith(text, ".") ? " " : ". ") + std::string(next);
}

// What follows where the table says nothing better.
std::string_view NextOf(Class what, std::string_view own) {
  if (!own.empty()) return own;
  switch (what) {
    case Class::kCapacity:
      return "Other zones are asked, and this one again later; another type may have room";
    case Class::kQuota:
      return kQuotaNext;
    case Class::kThrottled:
      return "It is asked again, more slowly";
    case Class::kDenied:
      return kRightsNext;
    case Class::kNotYetConsistent:
      return "It was made just now, or is gone: it is asked again for some minutes";
    case Class::kOver:
      return "Its machines are looked up, or another request follows";
    default:
      return "Nothing was made: correct the job and submit it again";
  }
}

Refusal Make(Class what, Scope scope, int64_t wait_s, std::string message) {
  Refusal refusal;
  refusal.what = what;
  refusal.scope = scope;
  refusal.wait = Duration::Seconds(wait_s);
  refusal.message = std::move(message);
  return refusal;
}

// A profile that was made a moment ago: EC2 does not know it yet, and has no code for that.
bool IsNewProfile(const Failure& failure) {
  return failure.code == "InvalidParameterValue" &&
         failure.message.find("Invalid IAM Instance Profile") != std::string::npos;
}

bool IsNoAnswer(const Failure& failure) {
  if (failure.code.empty() || failure.status >= 500) return Find(failure.code) == nullptr;
  for (const char* code : {"InternalError", "InternalFailure", "Unavailable", "ServiceUnavailable",
                           "RequestTimeout", "ServerInternal"}) {
    if (failure.code == code) return true;
  }
  return false;
}

}  // namespace

std::optional<Refusal> RefusalOf(const Failure& failure) {
  if (IsNoAnswer(failure)) return std::nullopt;
  if (IsNewProfile(failure)) {
    return Make(Class::kNotYetConsistent, Scope::kRequest, 0,
                Words(failure, "The role of the machines does not exist, or was made just now"));
  }
  const Row* row = Find(failure.code);
  if (row == nullptr) {
    return Make(Class::kInvalid, Scope::kRequest, 0, Words(failure, NextOf(Class::kInvalid, "")));
  }
  return Make(row->what, row->scope, row->wait_s, Words(failure, NextOf(row->what, row->next)));
}

std::optional<Refusal> RefusalOfDeath(std::string_view reason_code, std::string_view message) {
  const auto no = [&](Class what, Scope scope) {
    return Make(what, scope, 0, Printable(CutText(std::string(message), 400)));
  };
  if (reason_code == "Server.InsufficientInstanceCapacity") {
    return no(Class::kCapacity, Scope::kZone);
  }
  // "caused the instance to terminate on launch": of the zone, as far as anybody is told.
  if (reason_code == "Server.InternalError") return no(Class::kCapacity, Scope::kZone);
  if (reason_code == "Client.VolumeLimitExceeded" ||
      reason_code == "Client.InstanceLimitExceeded" || reason_code == "Client.VcpuLimitExceeded") {
    return no(Class::kQuota, Scope::kRegion);
  }
  // Mostly a volume that is encrypted with a key that may not be used.
  if (reason_code == "Client.InternalError") return no(Class::kInvalid, Scope::kRequest);
  if (reason_code == "Client.InvalidSnapshot.NotFound") {
    return no(Class::kInvalid, Scope::kRequest);
  }
  return std::nullopt;
}

Status StatusOf(const std::string& what, const Failure& failure) {
  const std::string text =
      what + ": " +
      (failure.code.empty() ? "it answered " + std::to_string(failure.status) : Words(failure, ""));
  if (IsNoAnswer(failure)) return Status(Code::kUnavailable, text);
  if (failure.code.find("NotFound") != std::string::npos ||
      failure.code.find("NoSuchEntity") != std::string::npos) {
    return Status(Code::kNotFound, text);
  }
  const Row* row = Find(failure.code);
  if (row == nullptr) return Status(Code::kInvalid, text);
  const std::string next(row->next);
  switch (row->what) {
    case Class::kThrottled:
    case Class::kNotYetConsistent:
      return Status(Code::kBusy, text, next);
    case Class::kDenied:
      return Status(Code::kDenied, text, next);
    case Class::kCapacity:
    case Class::kQuota:
      return Status(Code::kNoSpace, text, next);
    default:
      return Status(Code::kInvalid, text, next);
  }
}

bool IsExpired(const Failure& failure) {
  return StartsWith(failure.code, "ExpiredToken") || failure.code == "InvalidClientTokenId";
}

bool IsSkewed(const Failure& failure) {
  if (failure.code == "RequestExpired" || failure.code == "RequestTimeTooSkewed") return true;
  const bool signature = failure.code == "SignatureDoesNotMatch" || failure.code == "AuthFailure" ||
                         failure.code == "InvalidSignatureException";
  return signature && (failure.message.find("expired") != std::string::npos ||
                       failure.message.find("not yet current") != std::string::npos);
}

}  // namespace stoker::ec2

// SPDX-License-Identifier: Apache-2.0
#include "provider/ec2/api/ec2_errors.h"

#include "base/text.h"
#include "provider/ec2/api/ec2_words.h"

namespace stoker::ec2 {
namespace {

// "Client.InternalError", "Server.InsufficientInstanceCapacity": the side is not of the name.
std::string_view Bare(std::string_view code) {
  for (const char* side : {"Client.", "Server."}) {
    if (StartsWith(code, side)) code.remove_prefix(7);
  }
  return code;
}

const cloud::RefusalRow* Find(const Failure& failure) {
  const std::string_view code = Bare(failure.code);
  for (const std::string_view name : {code, code.substr(0, code.find('.'))}) {
    for (const cloud::RefusalRow& row : kRows) {
      if (cloud::Fits(row, name, failure.message)) return &row;
    }
  }
  return nullptr;
}

// Which of the account's quotas counts machines of that type and market. Source: "Amazon EC2
// service quotas" (Service Quotas, code ec2). "" = not known.
std::string QuotaOf(const Ask& ask) {
  struct Quota {
    std::string_view families;  // each between two spaces
    std::string_view on_demand, spot;
  };
  constexpr Quota kQuotas[] = {{" a c d h i m r t z ", "L-1216C47A", "L-34B43A08"},
                               {" g gr vt ", "L-DB2E81BA", "L-3819A6DF"},
                               {" p ", "L-417A185B", "L-7212CCBC"},
                               {" x ", "L-7295265B", "L-E3A00192"},
                               {" f ", "L-74FC7D96", "L-88CF9481"},
                               {" inf ", "L-1945791B", "L-B5D1601B"},
                               {" trn ", "L-2C3B7624", "L-6B0D517C"},
                               {" dl ", "L-6E869C2A", "L-85EED4F7"}};
  const size_t end = ask.type.find_first_of("0123456789");
  if (end == 0 || end == std::string::npos) return "";
  // Of spot, the newer ones have a quota of their own.
  const bool newer = ask.type[0] == 'p' && ask.type[end] >= '5';
  if (end == 1 && newer && ask.market == "spot") return "L-C4BD4855";
  const std::string family = " " + ask.type.substr(0, end) + " ";
  for (const Quota& quota : kQuotas) {
    if (quota.families.find(family) == std::string_view::npos) continue;
    return std::string(ask.market == "spot" ? quota.spot : quota.on_demand);
  }
  return "";
}

// What a person types, with what is known of the names in it.
std::string Filled(std::string_view next, const Ask& ask) {
  std::string text(next);
  const auto fill = [&](std::string_view name, const std::string& value) {
    const size_t at = text.find(name);
    if (at != std::string::npos && !value.empty()) text.replace(at, name.size(), value);
  };
  fill("REGION", ask.place.region);
  fill("QUOTA", QuotaOf(ask));
  return text;
}

bool IsNoAnswer(const Failure& failure) {
  if (failure.code.empty() || failure.status >= 500) return Find(failure) == nullptr;
  for (const char* code : {"InternalError", "InternalFailure", "Unavailable", "ServiceUnavailable",
                           "RequestTimeout", "ServerInternal"}) {
    if (failure.code == code) return true;
  }
  return false;
}

}  // namespace

std::span<const cloud::RefusalRow> RefusalRows() { return kRows; }

std::optional<Refusal> RefusalOf(const Failure& failure, const Ask& ask) {
  if (IsNoAnswer(failure)) return std::nullopt;
  const auto no = [&](Class what, Scope scope, int64_t wait_s, std::string_view next) {
    const std::string text = cloud::RefusalText(failure.code, failure.message, Filled(next, ask));
    return cloud::MakeRefusal(what, scope, wait_s, text);
  };
  const cloud::RefusalRow* row = Find(failure);
  if (row != nullptr) return no(row->what, row->scope, row->wait_s, row->next);
  // Whatever it is called: who asked may not.
  if (failure.status == 401 || failure.status == 403) {
    return no(Class::kDenied, Scope::kAccount, 0, kRightsNext);
  }
  const bool names = failure.code.find('.') != std::string::npos;
  return no(Class::kInvalid, Scope::kRequest, 0, names ? kNamesNext : kInvalidNext);
}

std::optional<Refusal> RefusalOfDeath(std::string_view reason_code, std::string_view message) {
  const auto no = [&](Class what, Scope scope, std::string_view next = "") {
    const std::string said = Printable(CutText(std::string(message), 400));
    return cloud::MakeRefusal(what, scope, 0, cloud::RefusalText("", said, next));
  };
  if (reason_code == "Server.InsufficientInstanceCapacity") {
    return no(Class::kCapacity, Scope::kZone);
  }
  // "caused the instance to terminate on launch": of the zone, as far as anybody is told.
  if (reason_code == "Server.InternalError") return no(Class::kCapacity, Scope::kZone);
  if (reason_code == "Client.VolumeLimitExceeded" ||
      reason_code == "Client.InstanceLimitExceeded" || reason_code == "Client.VcpuLimitExceeded") {
    return no(Class::kQuota, Scope::kRegion, kQuotaNext);
  }
  if (reason_code == "Client.InternalError") {
    return no(Class::kInvalid, Scope::kRequest,
              "Mostly a volume that is encrypted with a key which EC2 may not use: see the key's "
              "policy, and aws ec2 get-ebs-default-kms-key-id");
  }
  if (reason_code == "Client.InvalidSnapshot.NotFound") {
    return no(Class::kInvalid, Scope::kRequest);
  }
  return std::nullopt;
}

Status StatusOf(const std::string& what, const Failure& failure) {
  const std::string text =
      what + ": " +
      (failure.code.empty() ? "it answered " + std::to_string(failure.status)
                            : cloud::RefusalText(failure.code, failure.message, ""));
  if (IsNoAnswer(failure)) return Status(Code::kUnavailable, text);
  const cloud::RefusalRow* row = Find(failure);
  if (failure.code.find("NotFound") != std::string::npos ||
      failure.code.find("NoSuchEntity") != std::string::npos) {
    return Status(Code::kNotFound, text);
  }
  if (row == nullptr && (failure.status == 401 || failure.status == 403)) {
    return Status(Code::kDenied, text, std::string(kRightsNext));
  }
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

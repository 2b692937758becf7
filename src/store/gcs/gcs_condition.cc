// SPDX-License-Identifier: Apache-2.0
#include "store/gcs/gcs_condition.h"

#include "base/text.h"

namespace stoker::gcs {
namespace {

// Generations are microseconds since 1970; 0 would mean "absent".
bool IsGeneration(const Version& version) {
  return !version.empty() && version.size() <= 18 && version[0] != '0' &&
         version.find_first_not_of("0123456789") == std::string::npos;
}

}  // namespace

std::string ConditionQuery(const Condition& condition) {
  switch (condition.kind) {
    case Condition::Kind::kNone:
      return "";
    case Condition::Kind::kAbsent:
      return "ifGenerationMatch=0";
    case Condition::Kind::kMatch:
      return "ifGenerationMatch=" + (IsGeneration(condition.version) ? condition.version : "1");
  }
  return "";
}

Status Meant(const Bucket& bucket, const std::string& key, const Condition& condition,
             const Status& refused) {
  if (refused.Is(Code::kNotFound)) {
    return Status(Code::kInvalid, refused.message(),
                  "Make the bucket first, or look at its name in `store`");
  }
  if (!refused.Is(Code::kConflict)) return refused;
  const Request look = OnObject(bucket.name, "GET", key, "fields=generation");
  if (condition.kind == Condition::Kind::kAbsent) {
    return Status(Code::kExists, bucket.carrier.Describe(look) + ": it is there already");
  }
  const auto there = bucket.carrier.Call(look);
  if (there.status().Is(Code::kNotFound)) return there.status();
  return refused;
}

}  // namespace stoker::gcs

// SPDX-License-Identifier: Apache-2.0
// What both of Amazon's vaults share, and logins of ECR. Inside vault/ and images/role only.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "base/json.h"
#include "base/status.h"
#include "provider/ec2/api/aws_api.h"

namespace stoker::vault {

using Json = nlohmann::ordered_json;

// With the user's credentials and addresses, and `region`, or theirs where that is "".
Result<std::pair<std::shared_ptr<ec2::AwsApi>, std::string>> AwsIn(const std::string& region);

// Which region an ARN names; `other` for what is none.
std::string RegionOfName(const std::string& name, const std::string& other);

struct AwsAsk {
  std::string service, region, action;
  Json body;
  std::string what;        // "the parameter /team/hf"
  bool has_value = false;  // a refusal may repeat it, so of its words only the code is told
};
// kNotFound, kExists, kDenied, …: as Vault has them.
Result<Json> AskAws(ec2::AwsApi& api, const AwsAsk& ask);

}  // namespace stoker::vault

// SPDX-License-Identifier: Apache-2.0
// Topics of Amazon SNS, by their ARN.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "port/rights.h"
#include "port/topic.h"

namespace stoker {

// With the credentials and addresses of this machine's user. Sends nothing yet. Errors: those of
// MakeAwsApi.
Result<std::unique_ptr<Topic>> OpenSns(const std::string& arn);

// Adds a policy by which one may publish to these. Pure.
void AllowSns(const std::vector<std::string>& arns, Rights* rights);

}  // namespace stoker

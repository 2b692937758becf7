// SPDX-License-Identifier: Apache-2.0
// A shell on a machine of EC2: a rule for one address, a key for a minute, the host key that the
// node has told.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "port/broker.h"
#include "provider/ec2/api/aws_api.h"

namespace stoker {

// As Broker::Enter. `say` gets remarks, also when the shell is closed.
Result<Shell> EnterEc2(const std::shared_ptr<ec2::AwsApi>& api, const ShellAsk& ask,
                       const std::function<void(const std::string&)>& say);

}  // namespace stoker

// SPDX-License-Identifier: Apache-2.0
// Topics of Pub/Sub: "projects/P/topics/T".
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "port/rights.h"
#include "port/topic.h"

namespace stoker {

// With the credentials and addresses of this machine's user. Sends nothing yet.
Result<std::unique_ptr<Topic>> OpenPubSub(const std::string& name);

// Adds the commands by which one may publish to these. Pure.
void AllowPubSub(const std::vector<std::string>& names, Rights* rights);

}  // namespace stoker

// SPDX-License-Identifier: Apache-2.0
// Topics of Pub/Sub: "projects/P/topics/T".
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "port/topic.h"

namespace stoker {

// With the credentials and addresses of this machine's user. Sends nothing yet.
Result<std::unique_ptr<Topic>> OpenPubSub(const std::string& name);

}  // namespace stoker

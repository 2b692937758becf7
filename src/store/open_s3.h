// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "port/object_store.h"

namespace stoker {

// "s3://bucket" or "s3://bucket/prefix", with the credentials, the region and the endpoint that the
// user's other AWS tools would use (aws/). Sends nothing yet.
Result<std::unique_ptr<ObjectStore>> OpenS3(const std::string& url);

}  // namespace stoker

// SPDX-License-Identifier: Apache-2.0
// From what the user wrote as `store:` to the store.
#pragma once

#include <memory>
#include <string>

#include "port/object_store.h"

namespace stoker {

// "s3://bucket/prefix", "gs://bucket/prefix", "/path", "path" (relative to the working directory)
// or "file:///path". kInvalid, saying why, for anything else.
Result<std::unique_ptr<ObjectStore>> OpenStore(const std::string& url);

}  // namespace stoker

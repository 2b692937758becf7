// SPDX-License-Identifier: Apache-2.0
// From what the user wrote as `store:` to the store.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "port/object_store.h"

namespace stoker {

// "s3://bucket/prefix", "gs://bucket/prefix", "/path", "path" (relative to the working directory)
// or "file:///path". kInvalid, saying why, for anything else. Once `stopped` says so (thread-safe;
// empty: never), a bucket's failed requests are not tried again. A folder that is not there is
// made, or kNotFound.
enum class NoFolder { kMake, kLook };
Result<std::unique_ptr<ObjectStore>> OpenStore(const std::string& url,
                                               std::function<bool()> stopped = {},
                                               NoFolder missing = NoFolder::kMake);

// The bucket of "s3://…" or "gs://…" as a place of files for browsers: they are told what each
// object of a Put is, by the end of its name (.html, .css, .js, .svg; else nothing), and ask for it
// anew each time.
Result<std::unique_ptr<ObjectStore>> OpenSite(const std::string& url);

}  // namespace stoker

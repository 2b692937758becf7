// SPDX-License-Identifier: Apache-2.0
// A cache in a folder: one file a copy.
#pragma once

#include <memory>
#include <string>

#include "port/cache.h"

namespace stoker::sys {

// `folder` is made when something is first kept in it; only its owner may read it. Files that are
// not of the cache are left alone.
std::unique_ptr<Cache> MakeFolderCache(std::string folder);

}  // namespace stoker::sys

// SPDX-License-Identifier: Apache-2.0
// What a folder has already of a file that is about to be fetched into it.
#pragma once

#include <string>

#include "base/status.h"
#include "checkpoint/manifest.h"

namespace stoker::client {

enum class Lies {
  kNothing,  // the way is free
  kSame,     // the file, link or folder itself
  kOther,    // a file or a link that would have to go
  kFolder,   // a folder where a file belongs: nobody but its owner removes it
};

struct Found {
  Lies lies = Lies::kNothing;
  std::string why;  // with kOther and kFolder: "it is there and differs"
};

// Looks at `path` below `folder` (absolute, without links) for `wanted`. Follows no link below it,
// and reads a file only where its size is right. Fails only when it cannot be looked at.
Result<Found> LookInTheWay(const std::string& folder, const std::string& path,
                           const ManifestFile& wanted);

}  // namespace stoker::client

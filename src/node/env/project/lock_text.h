// SPDX-License-Identifier: Apache-2.0
// The text that a lock is exported as. All pure.
#pragma once

#include <string>
#include <vector>

namespace stoker::node {

// What of an export of uv.lock has no hash there: what lies in the folder, or comes from git.
// Names, or what they are asked for by.
std::vector<std::string> WithoutHash(const std::string& exported);
// The same export without any.
std::string DropHashes(const std::string& exported);

}  // namespace stoker::node

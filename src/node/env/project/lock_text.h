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

// Options of `uv export` that have it tell the indexes of the project's packages, as far as its
// `help` has them.
std::vector<std::string> IndexOptions(const std::string& help);
// An entry of [[tool.uv.index]].
struct ProjectIndex {
  std::string kind;  // "default", "extra", "flat"
  std::string url;   // may hold a password
};
// The same indexes as lines of a file of requirements, for a uv that does not tell them.
std::string IndexLines(const std::vector<ProjectIndex>& indexes);

}  // namespace stoker::node

// SPDX-License-Identifier: Apache-2.0
// Under which names outputs lie in the store, and which of them cannot be beside each other. Inside
// outputs/, but for ArtifactPath.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/text.h"
#include "checkpoint/manifest.h"

namespace stoker {

// Where a file of node `rank` lies below artifacts/: rank 0's under its own path, the others' under
// "node-<rank>/".
std::string ArtifactPath(int rank, const std::string& path);

// How the name of each list of outputs begins, below artifacts/.
inline constexpr char kOutputsManifest[] = "manifest-";
// The list of outputs of one node in one attempt.
std::string OutputsManifestKey(const std::string& job, int attempt, int rank);
// Of its name below artifacts/, "manifest-<attempt>-<rank>.json": seq = rank.
std::optional<CheckpointId> IdOfOutputsManifest(const std::string& name);

// What cannot be beside `path`: a file or link above it and, unless it is a folder, all below it.
// The job had them earlier under these names.
template <typename Value, typename KindOf>
std::vector<std::string> Superseded(const std::map<std::string, Value>& listed,
                                    const std::string& path, FileKind kind, const KindOf& kind_of) {
  constexpr size_t kLongestPath = 4096;  // no file system here has a longer one
  std::vector<std::string> out;
  if (path.size() > kLongestPath) return out;
  for (size_t at = path.find('/'); at != std::string::npos; at = path.find('/', at + 1)) {
    const auto above = listed.find(path.substr(0, at));
    if (above == listed.end()) continue;
    if (kind_of(above->second) != FileKind::kDirectory) out.push_back(above->first);
  }
  if (kind == FileKind::kDirectory) return out;
  const std::string below = path + "/";
  for (auto it = listed.lower_bound(below); it != listed.end(); ++it) {
    if (!StartsWith(it->first, below)) break;
    out.push_back(it->first);
  }
  return out;
}

}  // namespace stoker

// SPDX-License-Identifier: Apache-2.0
#include "outputs/output_names.h"

#include "ledger/paths.h"

namespace stoker {

std::string ArtifactPath(int rank, const std::string& path) {
  return rank == 0 ? path : "node-" + std::to_string(rank) + "/" + path;
}

std::string OutputsManifestKey(const std::string& job, int attempt, int rank) {
  return paths::Artifacts(job) + kOutputsManifest + std::to_string(attempt) + "-" +
         std::to_string(rank) + ".json";
}

std::optional<CheckpointId> IdOfOutputsManifest(const std::string& name) {
  const std::string prefix = kOutputsManifest;
  if (!StartsWith(name, prefix) || !EndsWith(name, ".json")) return std::nullopt;
  return ParseCheckpointId(name.substr(prefix.size(), name.size() - prefix.size() - 5));
}

}  // namespace stoker

// SPDX-License-Identifier: Apache-2.0
#include "node/attempt/context.h"

#include <utility>

#include "base/text.h"
#include "sys/file.h"

namespace stoker::node {

AttemptContext::AttemptContext(AttemptParts parts, AttemptConfig c)
    : AttemptParts(parts),
      config(std::move(c)),
      log(store, clock, config.dir, LogPlace{config.job.id, config.attempt, config.rank}),
      engine_patience(kEnginePatience, clock),
      registry_patience(kRegistryPatience, clock) {
  log.WhenOpen(config.log_opened);
}

std::string AttemptContext::CheckpointDir() const {
  const std::string& path = config.spec.checkpoints.path;
  return !path.empty() && path[0] == '/' ? path : WorkDir() + "/" + path;
}

std::string AttemptContext::LastingCheckpointFolder() const {
  const std::string folder = CheckpointDir();
  const std::string path = sys::RealPath(folder).value_or(folder);
  for (const std::string& own : {config.dir, WorkDir()}) {
    if (StartsWith(path, sys::RealPath(own).value_or(own) + "/")) return "";
  }
  return path;
}

UnsavedPlace AttemptContext::PlaceOfUnsaved() const {
  const std::string name =
      config.job.id + "-" + std::to_string(config.attempt) + "-" + std::to_string(config.rank);
  // A former agent's place is this machine's still.
  const std::string work = place ? WorkDir() : sys::WorkOf(config.dir);
  return {work, config.state_dir + "/" + kUnsaved, name, Spare()};
}

}  // namespace stoker::node

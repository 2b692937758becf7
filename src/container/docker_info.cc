// SPDX-License-Identifier: Apache-2.0
#include "container/docker_info.h"

#include <algorithm>
#include <string>

#include "base/json_fields.h"

namespace stoker {
namespace {

constexpr size_t kMostBytes = size_t{4} << 20;

}  // namespace

void ReadDockerInfo(std::string_view text, EngineFacts* engine) {
  const auto info = json::ParseObject("docker info", text, kMostBytes);
  if (!info.ok()) return;
  const auto security = info->find("SecurityOptions");
  if (security != info->end() && security->is_array()) {
    engine->rootless =
        std::find(security->begin(), security->end(), "name=rootless") != security->end();
  }
  const auto folder = info->find("DockerRootDir");
  if (folder != info->end() && folder->is_string()) engine->folder = folder->get<std::string>();
  const auto runtimes = info->find("Runtimes");
  engine->nvidia = runtimes != info->end() && runtimes->is_object() && runtimes->contains("nvidia");
  // Of docker 25 and later, empty where it is switched off.
  const auto cdi = info->find("CDISpecDirs");
  engine->cdi = cdi != info->end() && cdi->is_array() && !cdi->empty();
}

}  // namespace stoker

// SPDX-License-Identifier: Apache-2.0
// How an engine comes onto a machine that has none. Pure: a table.
#pragma once

#include <functional>
#include <string_view>

#include "container/engine_argv.h"

namespace stoker {

struct InstallWay {
  std::string_view tool;    // a program that such machines have
  std::string_view system;  // their ID in os-release; "" = any
  EngineKind engine;
  const char* script;  // for sh, by root; may be run again
};

// How `wanted` ("podman", "docker", "" = what such a machine has the soonest) is installed where
// os-release has ID=`system` and `has` says of a program whether it is there; null: it is not
// known.
const InstallWay* WayToInstall(std::string_view wanted, std::string_view system,
                               const std::function<bool(std::string_view)>& has);

// ID of a file os-release; "" = it has none.
std::string_view SystemId(std::string_view os_release);

}  // namespace stoker

// SPDX-License-Identifier: Apache-2.0
// Images that an engine of this machine has.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "container/engine_argv.h"
#include "sys/command.h"

namespace stoker {

struct ImageHere {
  std::string id;                  // 64 hex digits
  std::vector<std::string> names;  // "HOST/NAME@sha256:…"
};
// Nullopt: it is not here. Errors: the engine could not be asked; kCancelled: `stopped`.
Result<std::optional<ImageHere>> LookForImage(const EngineFacts& engine, const std::string& image,
                                              const sys::Stopped& stopped = {});
// Where the engine keeps its images; asks podman, where that is not known yet. "" = it does not
// say.
std::string ImageFolder(const EngineFacts& engine);

// Where docker's daemon is, as its client finds it: settings of another folder have no context of
// the user's. "" = podman, or it does not say.
std::string DaemonOf(const EngineFacts& engine);

// What to run from now on as `image`, which `here` is: with the digest that its registry knows it
// by, else its id, "sha256:…".
std::string FixedImage(const std::string& image, const ImageHere& here);

}  // namespace stoker

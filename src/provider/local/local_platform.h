// SPDX-License-Identifier: Apache-2.0
// A machine of the local provider, seen from its agent: its folder, and its metadata endpoint.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "port/metadata_service.h"
#include "port/node_platform.h"

namespace stoker {

// `dir`: the machine's folder. Asks `metadata` who it is, so it must answer. Errors: those of
// ReadLocalBoot and of the service.
Result<std::unique_ptr<NodePlatform>> MakeLocalPlatform(const std::string& dir,
                                                        std::unique_ptr<MetadataService> metadata);
// The provider's folder that `dir` is in, whichever machine of it that is.
std::string LocalStateDir(const std::string& dir);

}  // namespace stoker

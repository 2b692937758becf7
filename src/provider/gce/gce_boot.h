// SPDX-License-Identifier: Apache-2.0
// What a VM is told at its start: its start-up script, a pure function of the request's entry. It
// runs at every boot, as root. Source: "Use startup scripts on Linux VMs".
#pragma once

#include <string>

#include "base/status.h"
#include "port/provider.h"
#include "provider/gce/gce_options.h"

namespace stoker::gce {

// In cloud::kNodeDir: what the machine was created from.
inline constexpr char kLaunchFile[] = "gce.json";

// Arms the end of the lease and starts the agent; at the first boot it fetches the binary by its
// digest with the VM's own token. It has no secret. kInvalid: the store is no bucket of Google's.
Result<std::string> StartupScript(const LaunchRequest& request, const Options& options);

}  // namespace stoker::gce

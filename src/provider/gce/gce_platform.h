// SPDX-License-Identifier: Apache-2.0
// A VM of Compute Engine, seen from its agent: what its start-up script left on its disk, its
// metadata, its lease, its power.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "port/clock.h"
#include "port/node_platform.h"
#include "provider/cloud/cloud_platform.h"
#include "provider/gce/gce_metadata.h"

namespace stoker {

// Its `notice` and `advice` are asked of `metadata`, by threads of the platform's own that wait
// there: who asks the platform is answered at once.
struct GcePlatformOptions : CloudPlatformOptions {
  std::unique_ptr<GceMetadata> metadata;
  Duration wait = Duration::Seconds(3);   // of each request; the platform's end takes as long
  Duration pause = Duration::Seconds(1);  // after one that failed
};

// Between the notice of a preemption, which comes with the power button, and the end of the power:
// 30 seconds at most, minus some air.
inline constexpr Duration kClassicNotice = Duration::Seconds(25);
// Of host maintenance; of VMs with GPUs.
inline constexpr Duration kTerminateNotice = Duration::Seconds(60);
inline constexpr Duration kTerminateNoticeOfGpus = Duration::Minutes(60);
// One that is further away is no reason to move yet.
inline constexpr Duration kSoonEnough = Duration::Minutes(15);

// For the agent of this machine, whose node has the folder `dir`; null: it is no machine of Google.
// Errors: those of MakeGcePlatform and of MakeComputeApi.
Result<std::unique_ptr<NodePlatform>> FindGcePlatform(const std::string& dir, Clock& clock);

// Asks the metadata server who it is, so that must answer. Errors: its own, and those of what the
// start-up script left. `clock` must outlive it.
Result<std::unique_ptr<NodePlatform>> MakeGcePlatform(GcePlatformOptions options, Clock& clock);

// Deletes this VM where its account may, by the script that its boot left; then as
// PowerOffBySystemd.
Status EndGceMachine(const std::string& why);

}  // namespace stoker

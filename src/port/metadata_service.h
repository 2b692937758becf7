// SPDX-License-Identifier: Apache-2.0
// What a machine can learn about itself from its platform.
#pragma once

#include <optional>
#include <string>

#include "base/status.h"
#include "base/time.h"
#include "job/notice.h"

namespace stoker {

struct MachineIdentity {
  std::string instance_id;
  std::string address;
};

// Not thread-safe: one per polling thread.
class MetadataService {
 public:
  virtual ~MetadataService() = default;
  // Asks now. nullopt = no notice at this moment (a former one was withdrawn).
  virtual Result<std::optional<Notice>> PollNotice() = 0;
  virtual Result<MachineIdentity> Identity() = 0;
};

}  // namespace stoker

// SPDX-License-Identifier: Apache-2.0
// An agent on a machine of a cloud: what its platform can do only once the agent has opened its
// store and its providers.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/status.h"
#include "job/job.h"
#include "ledger/ledger.h"
#include "port/clock.h"
#include "port/node_platform.h"
#include "port/object_store.h"
#include "provider/cloud/ssh_door.h"
#include "provider/open.h"

namespace stoker::node {

// Outlives the platform that it finds.
class CloudNode {
 public:
  // Was the machine whose node has this folder made by a cloud?
  static bool IsOne(const std::string& dir);
  // `dir`: the node's folder. Errors: those of MakeEc2Platform, MakeGcePlatform.
  Result<std::unique_ptr<NodePlatform>> FindPlatform(const std::string& dir, Clock& clock);
  // From now on drills are heard and leases moved. `store` outlives all that use the platform.
  // Errors: those of Providers::Aws, Providers::Compute.
  Status Use(Providers& providers, ObjectStore& store);
  // Adds how to come to the machine by ssh, once its sshd has its keys.
  void TellDoor(NodeReport& report);
  // Before `store` ends: nothing asks it from now on.
  void Leave();

 private:
  using Tag = std::function<Status(const std::string& id, WallTime deadline)>;
  // Both for a platform's options.
  std::function<Result<std::optional<Duration>>()> DrillsOf(const std::string& job,
                                                            const std::string& id);
  Tag Tagging();

  std::mutex mutex_;  // held while the store is asked
  ObjectStore* store_ = nullptr;
  std::mutex tag_mutex_;
  Tag tag_;  // empty: it is still starting
  Place place_;
};

}  // namespace stoker::node

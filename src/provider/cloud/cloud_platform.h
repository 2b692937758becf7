// SPDX-License-Identifier: Apache-2.0
// A cloud's machine, seen from its agent: its lease on disk and where everybody sees it, drills,
// its power. What its cloud says of its end is asked by whoever makes it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/status.h"
#include "port/clock.h"
#include "port/node_platform.h"

namespace stoker {

struct CloudPlatformOptions {
  std::string dir;                              // the node's folder
  std::string instance_dir;                     // where the lease is, see cloud/cloud_launch.h
  std::string boot_id_file;                     // below /run: gone with each boot
  Duration notice_poll = Duration::Seconds(5);  // as PlatformTraits has it
  // The first notice of the cloud's own, as NodePlatform has it; and its advice. Each is called by
  // one thread at a time.
  std::function<Result<std::optional<Notice>>()> notice;
  std::function<Result<std::optional<PlatformAdvice>>()> advice;
  // Whether somebody asked for a fire drill of this machine, and how long it has then; called once
  // the agent has opened its store. May take long: a thread of the platform's own asks, so that no
  // other notice waits for it. Empty = nobody can.
  std::function<Result<std::optional<Duration>>(ObjectStore& store)> drill;
  Duration drill_every = Duration::Seconds(10);
  // Writes the end of the lease where everybody who clears up sees it; as the machine's own account
  // may. May take minutes: nothing else waits for it. Empty = may not.
  std::function<Status(const std::string& instance_id, WallTime deadline)> tag;
  // Ends this machine for good, in order: what runs is told first.
  std::function<Status(const std::string& why)> power_off;
};

inline constexpr Duration kLeaseNotice = Duration::Minutes(15);

// The options of a machine that runs the launch of `request` as `instance_id`: its folders, and
// its drills, which lie in the store.
void UseCloudFolders(const std::string& dir, const LaunchRequest& request,
                     const std::string& instance_id, CloudPlatformOptions* options);

// `me`: all but `dir` and `boot_id`. `clock` must outlive it. kCorrupt: it is no machine of its own
// request.
Result<std::unique_ptr<NodePlatform>> MakeCloudPlatform(NodeIdentity me,
                                                        CloudPlatformOptions options, Clock& clock);

// By systemd; what is said goes to the console, too.
Status PowerOffBySystemd(const std::string& why);

}  // namespace stoker

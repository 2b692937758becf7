// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace stoker {

// Takes away the kernel's control groups of a container that its engine has removed: podman leaves
// them behind where its conmon was killed. Only empty ones, found by the whole id in their names;
// what may not be removed stays. `root`: where control groups are mounted.
void RemoveGroupsOf(const std::string& id, const std::string& root = "/sys/fs/cgroup");

// While this computer goes down, or a user's systemd: ends the process that a user's podman keeps
// (catatonit), where it is in this process's control group. podman begins it there when systemd
// takes no new unit any more, after it has told all that was there to end, and systemd would wait
// for it.
void EndPauseHere();

}  // namespace stoker

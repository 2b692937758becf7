// SPDX-License-Identifier: Apache-2.0
// A control group (version 2) of our own around one task. Source of the file formats:
// Documentation/admin-guide/cgroup-v2.rst of Linux.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/time.h"

namespace stoker {

// Where the cgroup2 tree is mounted, out of the content of /proc/self/mountinfo; the unified mount
// of a hybrid system counts. "" when there is none.
std::string Cgroup2Mount(std::string_view mountinfo);
// The folder of this process's cgroup in it; kNotFound where there is no cgroup2 tree.
Result<std::string> OwnCgroup();

// Makes "<own cgroup>/stoker-<random>"; kDenied where the tree is not ours to write. Also removes
// the empty ones that runners killed earlier left there.
Result<std::string> MakeTaskCgroup();

// Makes "<parent>/stoker-<random>", and removes what is empty there, as MakeTaskCgroup does.
Result<std::string> MakeCgroupIn(const std::string& parent);
// One write(2) to a control file; false when the kernel refuses, errno says why.
bool WriteCgroup(const std::string& path, std::string_view value);

// The rest works on the folder of such a cgroup, its children included, and also after it is gone.
std::vector<pid_t> CgroupProcesses(const std::string& cgroup);
// SIGKILL to every process, also to those that fork meanwhile: cgroup.kill (Linux 5.14), else
// freeze and kill. Returns at once.
void KillCgroup(const std::string& cgroup);
// True while a live process is in it.
bool CgroupPopulated(const std::string& cgroup);
// Kills until it is empty or `limit` is over, then removes it. True when it is gone.
bool EndCgroup(const std::string& cgroup, Duration limit);

// The value after `key` in a flat keyed file such as cpu.stat or memory.events.
std::optional<int64_t> FlatKeyed(std::string_view content, std::string_view key);
std::optional<int64_t> CgroupValue(const std::string& cgroup, const char* file, const char* key);

}  // namespace stoker

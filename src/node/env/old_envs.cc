// SPDX-License-Identifier: Apache-2.0
#include "node/env/old_envs.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "node/env/python_env.h"
#include "sys/file.h"
#include "sys/file_lock.h"
#include "sys/task/process_table.h"

namespace stoker::node {
namespace {

bool IsOld(const std::string& env, WallTime now, Duration age) {
  struct stat info {};
  const std::string marker = env + kPythonEnvMarker;
  // One that was never finished has no marker.
  if (::lstat(marker.c_str(), &info) != 0 && ::lstat(env.c_str(), &info) != 0) return false;
  return now - WallTime{static_cast<int64_t>(info.st_mtim.tv_sec) * 1000} >= age;
}

}  // namespace

int64_t ClearOldPythonEnvs(const std::string& cache_dir, WallTime now, Duration age, bool dry_run) {
  const auto entries = sys::ListDir(cache_dir);
  int64_t cleared = 0;
  for (const auto& entry : entries.ok() ? *entries : std::vector<sys::DirEntry>()) {
    const std::string env = cache_dir + "/" + entry.name;
    if (!entry.is_dir || !IsOld(env, now, age)) continue;
    // A job whose environment is a shared one holds no lock of it: its processes tell.
    const auto lock = sys::TryFileLock(env + ".lock");
    if (!lock.ok()) continue;
    if (!IsOld(env, now, age) || !MarkedProcesses("VIRTUAL_ENV", env).empty()) continue;
    if (!dry_run) {
      // Without its marker it is made anew, should this end half-way.
      (void)::unlink((env + kPythonEnvMarker).c_str());
      if (!sys::RemoveTree(env).ok()) continue;
    }
    ++cleared;
  }
  return cleared;
}

}  // namespace stoker::node

// SPDX-License-Identifier: Apache-2.0
#include "sys/container/groups_left.h"

#include <fts.h>
#include <signal.h>
#include <unistd.h>

#include <cstring>
#include <memory>

#include "sys/file.h"
#include "sys/task/cgroup.h"

namespace stoker {
namespace {

constexpr size_t kWholeId = 64;
constexpr int kDeepest = 8;
constexpr char kPause[] = "catatonit\n";

}  // namespace

void RemoveGroupsOf(const std::string& id, const std::string& root) {
  if (id.size() != kWholeId) return;
  std::string path = root;
  char* const roots[] = {path.data(), nullptr};
  const std::unique_ptr<FTS, int (*)(FTS*)> walk(
      fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, nullptr), fts_close);
  if (!walk) return;
  while (FTSENT* entry = fts_read(walk.get())) {
    if (entry->fts_info == FTS_D && entry->fts_level >= kDeepest) {
      fts_set(walk.get(), entry, FTS_SKIP);
    }
    // Those below it went before: a group is left on the way up.
    if (entry->fts_info == FTS_DP && std::strstr(entry->fts_path, id.c_str()) != nullptr) {
      (void)rmdir(entry->fts_accpath);
    }
  }
}

void EndPauseHere() {
  const auto own = OwnCgroup();
  if (!own.ok()) return;
  for (const pid_t pid : CgroupProcesses(*own)) {
    const auto name = sys::ReadFile("/proc/" + std::to_string(pid) + "/comm", 64);
    if (name.ok() && *name == kPause) kill(pid, SIGTERM);
  }
}

}  // namespace stoker

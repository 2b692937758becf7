// SPDX-License-Identifier: Apache-2.0
#include "client/clear/leavings.h"

#include <sys/stat.h>

#include <set>

#include "base/text.h"
#include "node/env/old_envs.h"
#include "node/outputs/unsaved.h"
#include "sys/file.h"
#include "sys/work_place.h"

namespace stoker::client {
namespace {

constexpr Duration kPackingAge = Duration::Hours(24);

// Removes what lies in `folder` with this prefix, is older than `age` and not in `keep`.
int64_t ClearFolder(Client& client, const std::string& folder, const std::string& prefix,
                    Duration age, const std::set<std::string>& keep, bool dry_run) {
  const auto entries = sys::ListDir(folder);
  int64_t cleared = 0;
  for (const auto& entry : entries.ok() ? *entries : std::vector<sys::DirEntry>()) {
    struct stat st {};
    const std::string path = folder + "/" + entry.name;
    if (!StartsWith(entry.name, prefix) || keep.count(entry.name) > 0) continue;
    if (::lstat(path.c_str(), &st) != 0) continue;
    const WallTime changed{static_cast<int64_t>(st.st_mtim.tv_sec) * 1000};
    if (client.clock().Wall() - changed < age) continue;
    if (dry_run || sys::RemoveTree(path).ok()) ++cleared;
  }
  return cleared;
}

}  // namespace

Caches ClearCaches(Client& client, bool dry_run) {
  const std::string& cache = client.places().cache;
  Caches cleared;
  cleared.copies = ClearFolder(client, cache, "stoker-pack-", kPackingAge, {}, dry_run) +
                   ClearFolder(client, cache, "index-", kUnusedAge, {}, dry_run) +
                   ClearFolder(client, cache, "labels-", kUnusedAge, {}, dry_run) +
                   ClearFolder(client, cache + "/aws", "", kUnusedAge, {}, dry_run) +
                   ClearFolder(client, cache + "/venv", "uv-", kUnusedAge, {}, dry_run);
  cleared.environments =
      node::ClearOldPythonEnvs(cache + "/venv", client.clock().Wall(), kUnusedAge, dry_run);
  return cleared;
}

std::string UnsavedFolder(Client& client) { return client.places().state + "/" + node::kUnsaved; }

int64_t ClearUnsaved(Client& client, bool dry_run) {
  return ClearFolder(client, UnsavedFolder(client), "", kUnusedAge, {}, dry_run);
}

int64_t ClearWorkPlaces(Client& client, bool dry_run) {
  const std::string folder = client.places().state + "/work";
  const auto entries = sys::ListDir(folder);
  int64_t cleared = ClearFolder(client, folder, ".new-", kPackingAge, {}, dry_run);
  for (const auto& entry : entries.ok() ? *entries : std::vector<sys::DirEntry>()) {
    struct stat st {};
    const std::string path = folder + "/" + entry.name;
    if (!EndsWith(entry.name, ".lock") || ::lstat(path.c_str(), &st) != 0) continue;
    const WallTime touched{static_cast<int64_t>(st.st_mtim.tv_sec) * 1000};
    const bool old = client.clock().Wall() - touched >= kUnusedAge;
    if (sys::ClearWorkPlace(path, old, dry_run)) ++cleared;
  }
  return cleared;
}

}  // namespace stoker::client

// SPDX-License-Identifier: Apache-2.0
#include "client/clear/own_binaries.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <set>

#include "ledger/records.h"
#include "sys/file.h"

namespace stoker::client {
namespace {

bool IsOlder(Client& client, const std::string& path, Duration age) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) return false;
  const WallTime last{static_cast<int64_t>(info.st_mtim.tv_sec) * 1000};
  return client.clock().Wall() - last >= age;
}

Result<std::set<std::string>> Used(Client& client, Ledger& ledger) {
  std::set<std::string> used;
  STOKER_ASSIGN(const std::vector<Broker*> brokers, client.brokers());
  for (Broker* broker : brokers) STOKER_TRY(broker->AddBinaries(&used));
  STOKER_ASSIGN(const auto active, ActiveJobs(ledger));
  for (const std::string& id : active) {
    const auto read = ReadJob(ledger, id);
    if (read.status().Is(Code::kNotFound)) continue;  // a submit that died, or is at work
    if (!read.ok()) return read.status().WithContext("job " + id + " may run any of them");
    used.insert(read->job.binary_digest);
  }
  return used;
}

}  // namespace

Result<int64_t> ClearBinaries(Client& client, Ledger& ledger, Duration age, bool dry_run) {
  const std::string& root = client.places().state;
  const std::string folder = root + "/bin";
  const auto copies = sys::ListDir(folder);
  std::set<std::string> old;
  for (const auto& copy : copies.ok() ? *copies : std::vector<sys::DirEntry>()) {
    if (IsOlder(client, folder + "/" + copy.name, age)) old.insert(copy.name);
  }
  if (old.empty()) return 0;
  STOKER_ASSIGN(const std::set<std::string> used, Used(client, ledger));
  int64_t cleared = 0;
  for (const std::string& name : old) {
    const std::string path = folder + "/" + name;
    if (used.contains(name)) {
      // Its job may be of a store that is not looked at once its machine is gone.
      if (!dry_run) (void)::utimensat(AT_FDCWD, path.c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
    } else if (IsOlder(client, path, age) && (dry_run || sys::RemoveTree(path).ok())) {
      // Asked again: what is submitted meanwhile has made its copy young.
      ++cleared;
    }
  }
  return cleared;
}

}  // namespace stoker::client

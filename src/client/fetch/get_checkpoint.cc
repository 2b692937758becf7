// SPDX-License-Identifier: Apache-2.0
#include "client/fetch/get_checkpoint.h"

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>

#include "base/text.h"
#include "checkpoint/checkpoint_store.h"
#include "client/fetch/fetched_folder.h"
#include "client/open/meter.h"
#include "ledger/records.h"
#include "sys/file.h"
#include "sys/thread_crew.h"
#include "sys/watch/checkpoint_files.h"
#include "view/lineage.h"

namespace stoker::client {
namespace {

constexpr char kPart[] = ".stoker-part-";  // and the pid of who fetches

// What is there already is not overwritten: the destination would have to equal the checkpoint.
Status CheckDestination(const std::string& to) {
  if (!sys::FileExists(to)) return Status::Ok();
  const auto entries = sys::ListDir(to);
  if (entries.ok() && entries->empty()) return Status::Ok();
  return Status(Code::kExists, to + " is there already and is not an empty folder",
                "Name another folder");
}

// Where a checkpoint is fetched to before it gets its name: half of one must not have it, whatever
// dies. What fetches that were killed have left beside it goes.
Result<std::string> MakePart(const std::string& to) {
  const std::string path = to.substr(0, to.find_last_not_of('/') + 1);
  const size_t slash = path.rfind('/');
  const std::string parent = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const std::string prefix = path.substr(slash == std::string::npos ? 0 : slash + 1) + kPart;
  const auto entries = sys::ListDir(parent);
  for (const auto& entry : entries.ok() ? *entries : std::vector<sys::DirEntry>()) {
    if (!StartsWith(entry.name, prefix)) continue;
    const auto pid = WholeNumber(entry.name.substr(prefix.size()), 1, INT32_MAX);
    if (pid && ::kill(static_cast<pid_t>(*pid), 0) != 0 && errno == ESRCH) {
      (void)sys::RemoveTree(parent + "/" + entry.name);
    }
  }
  const std::string part = path + kPart + std::to_string(::getpid());
  STOKER_TRY(sys::MakeDirs(part, 0755));
  return sys::RealPath(part);
}

// What a restore will write, for the progress: 0 when it cannot be known.
int64_t BytesOf(ObjectStore& store, const std::string& job, const std::string& id, int node) {
  const auto manifest = LoadManifest(store, job, id);
  int64_t bytes = 0;
  if (!manifest.ok()) return 0;  // the restore says why
  for (const ManifestFile& file : UnionFor(*manifest, node)) bytes += file.size;
  return bytes;
}

}  // namespace

Result<std::optional<CheckpointName>> CheckpointMeant(Client& client, const std::string& job,
                                                      const std::string& what) {
  const std::string name = SplitCheckpointName(what).name;
  const bool maybe = name == "checkpoint" || name == kAsLeft || IsAsLeft(name) ||
                     ParseLeftOfNode(name) || ParseCheckpointId(name).has_value();
  if (!maybe) return std::optional<CheckpointName>();
  STOKER_ASSIGN(Ledger * ledger, client.ledger());
  STOKER_ASSIGN(const JobRead read, ReadJob(*ledger, job));
  return FindCheckpoint(*ledger, read.job, what);
}

std::string FolderOf(const CheckpointName& which) { return "checkpoint-" + which.name; }

Result<std::string> GetCheckpoint(Client& client, const CheckpointName& which, int node,
                                  const std::string& to) {
  STOKER_ASSIGN(ObjectStore * store, client.store());
  const std::string& job = which.job;
  const std::string& id = which.name;
  const std::string named = to.empty() ? FolderOf(which) : to;
  STOKER_TRY(CheckDestination(named));
  const bool ours = !sys::FileExists(named);
  STOKER_ASSIGN(const std::string fetched, ours ? MakePart(named) : sys::RealPath(named));
  STOKER_ASSIGN(const auto writer, OpenDirectoryWriter(fetched));
  const Status restored = [&] {
    Meter meter(client, "fetching", BytesOf(*store, job, id, node));
    ThreadCrew crew;
    return RestoreCheckpoint(*store, job, id, node, *Metered(*writer, meter),
                             {&crew, &client.clock(), kGetMoves});
  }();
  if (!restored.ok()) {
    // Half of a checkpoint is worse than none.
    if (ours) (void)sys::RemoveTree(fetched);
    return restored;
  }
  if (ours && to.empty()) LeaveUnpacked(fetched);
  if (ours && ::rename(fetched.c_str(), named.c_str()) != 0) {
    return ErrnoStatus("naming " + fetched + " " + named, errno);
  }
  return sys::RealPath(named);
}

}  // namespace stoker::client

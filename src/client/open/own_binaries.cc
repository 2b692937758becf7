// SPDX-License-Identifier: Apache-2.0
#include "client/open/own_binaries.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <set>
#include <utility>

#include "base/digest.h"
#include "base/text.h"
#include "ledger/blobs.h"
#include "ledger/records.h"
#include "sys/file.h"
#include "sys/thread_crew.h"
#include "sys/watch/file_snapshot.h"
#include "transfer/blob_transfer.h"

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

// The digest is remembered by the file's identity: hashing 8 MB costs more than the rest of submit.
Result<std::string> DigestOfFile(const Client& client, const std::string& exe) {
  struct stat st {};
  if (::stat(exe.c_str(), &st) != 0) return ErrnoStatus("stat " + exe, errno);
  const std::string identity =
      exe + " " + std::to_string(st.st_ino) + " " + std::to_string(st.st_size) + " " +
      std::to_string(st.st_mtim.tv_sec) + "." + std::to_string(st.st_mtim.tv_nsec) + " " +
      std::to_string(st.st_ctim.tv_sec) + "." + std::to_string(st.st_ctim.tv_nsec);
  const std::string memo = client.places().cache + "/binary-digest";
  const auto known = sys::ReadFile(memo, 4096);
  if (known.ok() && StartsWith(*known, identity + " ") && known->size() == identity.size() + 65) {
    return known->substr(identity.size() + 1);
  }
  STOKER_ASSIGN(const std::string data, sys::ReadFile(exe, 256 << 20));
  const std::string digest = Sha256Hex(data);
  STOKER_TRY(sys::MakeDirs(client.places().cache, 0700));
  (void)sys::WriteFileAtomic(memo, identity + " " + digest, 0600, false);
  return digest;
}

// In its place by rename, so that a machine never starts from half a binary.
Status CopyForMachines(const Client& client, const std::string& exe, const std::string& digest) {
  const std::string folder = client.places().state + "/bin/" + digest;
  if (sys::FileExists(folder + "/stoker")) {
    // In use: `stoker gc` goes by the folder's time.
    (void)::utimensat(AT_FDCWD, folder.c_str(), nullptr, 0);
    return Status::Ok();
  }
  STOKER_TRY(sys::MakeDirs(folder, 0700));
  STOKER_ASSIGN(const std::string data, sys::ReadFile(exe, 256 << 20));
  return sys::WriteFileAtomic(folder + "/stoker", data, 0700, false);
}

}  // namespace

Status StoreFile(Ledger& ledger, const std::string& digest, const std::string& path) {
  STOKER_ASSIGN(sys::ScopedFd fd, sys::Open(path, O_RDONLY));
  struct stat st {};
  if (::fstat(fd.get(), &st) != 0) return ErrnoStatus("stat " + path, errno);
  FileFact fact;
  fact.path = path;
  fact.size = st.st_size;
  auto file = std::make_shared<FileSnapshot>();
  file->Add(std::move(fact), std::move(fd));
  ThreadCrew crew;
  const Movers movers{&crew, &ledger.clock(), {16, 8, int64_t{64} << 20}};
  return SendBlob(ledger, movers, digest, std::move(file)).status();
}

Result<std::string> StoreBinary(Client& client) {
  const std::string exe = client.self_exe();
  STOKER_ASSIGN(const std::string digest, DigestOfFile(client, exe));
  STOKER_TRY(
      CopyForMachines(client, exe, digest).WithContext("keeping a copy of stoker for machines"));
  STOKER_ASSIGN(Ledger * ledger, client.ledger());
  STOKER_TRY(StoreFile(*ledger, digest, exe));
  return digest;
}

Status BringBinary(Client& client, const std::string& digest) {
  const std::string folder = client.places().state + "/bin/" + digest;
  if (sys::FileExists(folder + "/stoker")) return Status::Ok();
  STOKER_ASSIGN(Ledger * ledger, client.ledger());
  std::string data;
  STOKER_TRY(FetchBlob(*ledger, digest, [&](std::string_view piece) {
               data += piece;
               return Status::Ok();
             }).WithContext("fetching the stoker that the job's nodes run"));
  STOKER_TRY(sys::MakeDirs(folder, 0700));
  return sys::WriteFileAtomic(folder + "/stoker", data, 0700, false);
}

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

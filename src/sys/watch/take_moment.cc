// SPDX-License-Identifier: Apache-2.0
#include "sys/watch/take_moment.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "base/text.h"
#include "sys/watch/directory_scan.h"

namespace stoker {
namespace {

// Without leases: how long after the copy the original is read again.
constexpr auto kSecondLook = std::chrono::milliseconds(200);
// The kernel's stamps move in steps of up to 10 ms (jiffies).
constexpr int64_t kStampNs = 30'000'000;
// Shares of the limit of descriptors: those of the files that are held during a copy, and of the
// copies, of which there are up to three at a time.
constexpr rlim_t kHeldShare = 8;
constexpr rlim_t kOwnShare = 32;
constexpr rlim_t kMostHeld = 1024;
constexpr rlim_t kMostOwn = 64;
// A copy may take this part of the room that is left, however little there is.
constexpr int64_t kSmallShare = 8;

rlim_t Descriptors() {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 256;
  return limit.rlim_cur == RLIM_INFINITY ? kMostHeld * kHeldShare : limit.rlim_cur;
}

size_t MostHeld() { return std::clamp<rlim_t>(Descriptors() / kHeldShare, 8, kMostHeld); }
size_t MostOwn() { return std::clamp<rlim_t>(Descriptors() / kOwnShare, 2, kMostOwn); }

bool Differs(const FileFact& fact, const FileFact& now) {
  return fact.kind != now.kind || fact.ino != now.ino || fact.size != now.size ||
         (fact.kind == FileKind::kFile && fact.mtime_ns != now.mtime_ns);
}

Status HasChanged(const FileFact& fact) {
  return Status(Code::kConflict, "'" + fact.path + "' has changed");
}

int64_t NowNs() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

std::vector<FileFact> FilesOf(const SnapshotRequest& request, int64_t* bytes) {
  std::vector<FileFact> files;
  for (const FileFact& fact : request.copy) {
    if (fact.kind != FileKind::kFile) continue;
    files.push_back(fact);
    // A hole takes no room in the copy either.
    *bytes += std::min(fact.size, fact.allocated);
  }
  return files;
}

}  // namespace

int64_t FreeBytes(const std::string& path) {
  struct statvfs info;
  if (statvfs(path.c_str(), &info) != 0) return -1;
  return static_cast<int64_t>(info.f_bavail) * static_cast<int64_t>(info.f_frsize);
}

MomentTaker::MomentTaker(Places places, TaskWatch& task, Clock& clock)
    : places_(std::move(places)), task_(task), clock_(clock) {}

Result<std::unique_ptr<Snapshot>> MomentTaker::Take(const SnapshotRequest& request) {
  int64_t bytes = 0;
  const std::vector<FileFact> files = FilesOf(request, &bytes);
  auto snapshot = std::make_unique<FileSnapshot>();
  Status copied = CheckRoom(bytes);
  if (copied.ok()) {
    const size_t most = places_.at_once > 0 ? places_.at_once : MostHeld();
    copied = files.size() <= most ? HoldAndCopy(request, files, snapshot.get())
                                  : CopyInTurns(request, files, snapshot.get());
  }
  if (copied.Is(Code::kNoSpace) && request.or_original) {
    snapshot = std::make_unique<FileSnapshot>();
    copied = ReferTo(request, files, snapshot.get());
  }
  if (!copied.ok()) return copied;
  return std::unique_ptr<Snapshot>(std::move(snapshot));
}

Status MomentTaker::HoldAndCopy(const SnapshotRequest& request, const std::vector<FileFact>& files,
                                FileSnapshot* snapshot) {
  const MonoTime begun = clock_.Mono();
  std::vector<HeldFile> held;
  for (const FileFact& fact : files) {
    STOKER_ASSIGN(HeldFile file, HeldFile::Open(places_.root, fact, clock_, request.even_if_open));
    held.push_back(std::move(file));
  }
  // Every file is held from here on: this is the moment that the copy is of.
  STOKER_TRY(CheckMoment(request, nullptr));
  Copier copier(places_.staging, MostOwn(), files.size() <= MostOwn(), *snapshot);
  for (const HeldFile& file : held) {
    STOKER_TRY(copier.Copy(file, begun + request.patience, clock_));
  }
  STOKER_TRY(CheckAfter(request, held, *snapshot));
  held.clear();
  CopyPrefixes(request, copier);
  return Status::Ok();
}

Status MomentTaker::CopyInTurns(const SnapshotRequest& request, const std::vector<FileFact>& files,
                                FileSnapshot* snapshot) {
  ChangeTimes times;
  STOKER_TRY(CheckMoment(request, &times));
  Copier copier(places_.staging, MostOwn(), files.size() <= MostOwn(), *snapshot);
  const size_t most = places_.at_once > 0 ? places_.at_once : MostHeld();
  bool leased = true;
  for (size_t at = 0; at < files.size(); at += most) {
    const MonoTime begun = clock_.Mono();
    std::vector<HeldFile> held;
    for (size_t i = at; i < std::min(at + most, files.size()); ++i) {
      STOKER_ASSIGN(HeldFile file,
                    HeldFile::Open(places_.root, files[i], clock_, request.even_if_open));
      leased = leased && file.leased();
      STOKER_TRY(copier.Copy(file, begun + request.patience, clock_));
      held.push_back(std::move(file));
    }
    for (const HeldFile& file : held) STOKER_TRY(file.StillSame(clock_));
  }
  if (!leased) STOKER_TRY(CompareInTurns(files, *snapshot));
  ChangeTimes after;
  STOKER_TRY(CheckMoment(request, &after));
  for (const auto& [path, time] : times) {
    const auto now = after.find(path);
    if (now == after.end() || now->second != time) {
      return Status(Code::kConflict, "'" + path + "' changed while it was copied");
    }
  }
  CopyPrefixes(request, copier);
  return Status::Ok();
}

Status MomentTaker::CompareInTurns(const std::vector<FileFact>& files,
                                   const FileSnapshot& snapshot) {
  std::this_thread::sleep_for(kSecondLook);
  for (size_t i = 0; i < files.size(); ++i) {
    STOKER_ASSIGN(const sys::ScopedFd fd,
                  sys::Open(PathOf(files[i]), O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
    STOKER_TRY(CompareContents(fd.get(), snapshot.CopyOf(i), files[i].size));
  }
  return Status::Ok();
}

Status MomentTaker::ReferTo(const SnapshotRequest& request, const std::vector<FileFact>& files,
                            FileSnapshot* snapshot) {
  ChangeTimes times;
  STOKER_TRY(CheckMoment(request, &times));
  for (const FileFact& fact : files) {
    snapshot->AddOriginal(fact, PathOf(fact), times.at(fact.path));
  }
  for (const FileFact& fact : request.prefix) {
    if (sys::FileExists(PathOf(fact))) snapshot->AddOriginal(fact, PathOf(fact), -1);
  }
  return Status::Ok();
}

void MomentTaker::CopyPrefixes(const SnapshotRequest& request, Copier& copier) {
  for (const FileFact& fact : request.prefix) {
    auto fd = sys::Open(PathOf(fact), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    if (fd.ok()) (void)copier.CopyPrefix(fd->get(), fact);  // logs come and go
  }
}

// Nothing in it is being written, and every name leads to what the request says. With `times` it
// must have been so for longer than the grain of the kernel's stamps.
Status MomentTaker::CheckMoment(const SnapshotRequest& request, ChangeTimes* times) {
  std::map<std::string, InodeId> inodes;
  dev_t device = 0;
  const int64_t now_ns = NowNs();
  for (const auto* list : {&request.copy, &request.stay}) {
    for (const FileFact& fact : *list) {
      struct stat info;
      if (lstat(PathOf(fact).c_str(), &info) != 0) return HasChanged(fact);
      const FileFact now = FactOf(fact.path, info);
      if (Differs(fact, now)) return HasChanged(fact);
      inodes[fact.path] = {info.st_dev, info.st_ino};
      device = info.st_dev;
      if (times == nullptr || list != &request.copy) continue;
      const int64_t age = now_ns - now.ctime_ns;
      if (age >= 0 && age < kStampNs) {
        return Status(Code::kBusy, "'" + fact.path + "' changed just now");
      }
      (*times)[fact.path] = now.ctime_ns;
    }
  }
  if (request.need_task && !TaskWell()) return Status(Code::kConflict, "the program is ending");
  return request.even_if_open ? Status::Ok() : CheckWriters(device, inodes);
}

Status MomentTaker::CheckWriters(dev_t device, const std::map<std::string, InodeId>& inodes) {
  const Writers writers = task_.Look(device, places_.root, inodes);
  for (const auto& [path, inode] : inodes) {
    if (writers.open.count(inode) != 0 || writers.mapped.count(inode) != 0) {
      return Status(Code::kBusy, "'" + path + "' is being written");
    }
  }
  return Status::Ok();
}

Status MomentTaker::CheckAfter(const SnapshotRequest& request, const std::vector<HeldFile>& held,
                               FileSnapshot& snapshot) {
  std::map<std::string, InodeId> inodes;
  dev_t device = 0;
  bool leased = true;
  for (const HeldFile& file : held) {
    struct stat info;
    if (fstat(file.fd(), &info) == 0) inodes[file.fact().path] = {info.st_dev, info.st_ino};
    device = info.st_dev;
    leased = leased && file.leased();
  }
  // A writer that opened the file since then waits for the lease and shows up in no list. One
  // that is listed got past it.
  if (!request.even_if_open) STOKER_TRY(CheckWriters(device, inodes));
  if (!leased) std::this_thread::sleep_for(kSecondLook);
  for (size_t i = 0; i < held.size(); ++i) {
    if (!held[i].leased()) {
      STOKER_TRY(CompareContents(held[i].fd(), snapshot.CopyOf(i), held[i].fact().size));
    }
    STOKER_TRY(held[i].StillSame(clock_));
  }
  if (request.need_task && !TaskWell()) return Status(Code::kConflict, "the program is ending");
  return Status::Ok();
}

bool MomentTaker::TaskWell() {
  return !task_.has_task() || (task_.Judge(clock_.Mono()) != Fate::kKilled && task_.Alive());
}

// The reserve is the program's: a copy leaves it alone, unless it is small against what is left.
Status MomentTaker::CheckRoom(int64_t bytes) const {
  STOKER_TRY(sys::MakeDirs(places_.staging, 0700));
  const int64_t left = FreeBytes(places_.staging);
  if (left < 0 || left >= bytes + places_.reserve || bytes <= left / kSmallShare) {
    return Status::Ok();
  }
  return Status(Code::kNoSpace,
                "no room for a copy of the checkpoint: it takes " + HumanSize(bytes) + ", and " +
                    HumanSize(left) + " are free on the disk",
                "free some space on the disk that holds the job's files");
}

}  // namespace stoker

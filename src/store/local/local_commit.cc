// SPDX-License-Identifier: Apache-2.0
// How a finished file becomes an object: the three conditions of a write. Each step that decides is
// one rename(2), which the kernel grants to exactly one of many processes.
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "base/text.h"
#include "store/local/local_store.h"

namespace stoker {

using local::RevDir;
using local::Revision;
using local::Staged;

namespace {

// Directories that others remove while we need them, and races that are lost to others: each round
// means that somebody else got on, so that this is only a net for what cannot be.
constexpr int kRounds = 10'000;

// rename(2) that fails with EEXIST when the target is there.
int RenameNew(int root, const std::string& from, const std::string& to) {
  if (syscall(SYS_renameat2, root, from.c_str(), root, to.c_str(), RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return -1;
  // NFS and old kernels: a second name, then the first one goes.
  if (linkat(root, from.c_str(), root, to.c_str(), 0) != 0) {
    const int error = errno;
    struct stat info = {};
    // Over NFS the answer to a call that succeeded may be lost, and its repetition says EEXIST.
    if (error != EEXIST || fstatat(root, from.c_str(), &info, 0) != 0 || info.st_nlink < 2) {
      errno = error;
      return -1;
    }
  }
  unlinkat(root, from.c_str(), 0);
  return 0;
}

bool IsFolder(int root, const std::string& key) {
  struct stat info = {};
  return fstatat(root, key.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(info.st_mode);
}

Status Crowded(const std::string& key) {
  return Status(Code::kBusy, key + ": too many writers at once");
}

Status FolderInTheWay(const local::Folder& folder, const std::string& key) {
  return Status(Code::kInvalid, folder.Path(key) + ": is a folder of other objects");
}

}  // namespace

Result<Version> LocalStore::Commit(Staged staged, const std::string& key,
                                   const Condition& condition) {
  switch (condition.kind) {
    case Condition::Kind::kNone:
      return CommitAny(std::move(staged), key);
    case Condition::Kind::kAbsent:
      return CommitAbsent(std::move(staged), key);
    case Condition::Kind::kMatch:
      break;
  }
  STOKER_TRY(CheckMatch(key, condition.version));
  if (const auto base = local::ParsePlainVersion(condition.version)) {
    return CommitFirstRevision(staged, key, *base);
  }
  const auto current = local::ParseRevision(condition.version);
  if (!current) return Lost(key);  // no version of ours, so it cannot be the current one
  STOKER_ASSIGN(const sys::ScopedFd rev_dir, OpenRevDir(key));
  if (!rev_dir.valid()) return Lost(key);
  return CommitRevision(staged, key, rev_dir.get(), *current, current->base);
}

// Fails when `version` is not the current one; a first look, not the decision.
Status LocalStore::CheckMatch(const std::string& key, const Version& version) {
  if (local::Versionless(key)) {
    return Status(Code::kInvalid, folder_.Path(key) + ": is never written on a version");
  }
  STOKER_ASSIGN(const Found found, Find(key, false));
  if (found.info.version == version) return Status::Ok();
  return Status(Code::kConflict, folder_.Path(key) + ": has changed");
}

// Whether the revisions of `key` began with the plain object `base`.
Result<bool> LocalStore::GrewFrom(const std::string& key, const std::string& base,
                                  bool* exists) const {
  STOKER_ASSIGN(const sys::ScopedFd rev_dir, OpenRevDir(key));
  *exists = rev_dir.valid();
  if (!rev_dir.valid()) return false;
  std::vector<local::Entry> entries;
  STOKER_TRY(local::ReadEntries(rev_dir.get(), &entries));
  for (const local::Entry& entry : entries) {
    if (EndsWith(entry.name, "-" + base)) return true;
  }
  return false;
}

// After a rename onto `key` failed with `error`: Ok when it may succeed now.
Status LocalStore::ClearTheWay(const Staged& staged, const std::string& key, int error) const {
  if (error == EINTR) return Status::Ok();
  if (error == ENOTDIR) {
    return Status(Code::kInvalid, folder_.Path(key) + ": a part of this key is an object already");
  }
  if (error != ENOENT) return folder_.Failure("writing", key, error);
  if (!folder_.Exists(staged.name())) return folder_.Failure("writing", staged.name(), ENOENT);
  return folder_.MakeParents(key);
}

Result<Version> LocalStore::CommitAbsent(Staged staged, const std::string& key) {
  const Status taken(Code::kExists, folder_.Path(key) + ": exists already");
  for (int round = 0;; ++round) {
    if (round == kRounds) return Crowded(key);
    STOKER_ASSIGN(const bool revised, HasRevision(key));
    if (revised) return taken;
    if (RenameNew(folder_.fd(), staged.name(), key) == 0) break;
    const int error = errno;
    if (error == EEXIST) {
      return IsFolder(folder_.fd(), key) ? FolderInTheWay(folder_, key) : taken;
    }
    STOKER_TRY(ClearTheWay(staged, key, error));
  }
  staged.Published();
  STOKER_TRY(folder_.SyncParent(key));
  // Somebody else may have made it, written revisions and removed the plain file, all between our
  // look and our rename. Then we lost, unless the revisions grew out of ours.
  bool exists = false;
  STOKER_ASSIGN(const bool ours, GrewFrom(key, local::BaseOf(staged.info()), &exists));
  if (exists && !ours) {
    STOKER_ASSIGN(const bool revised, HasRevision(key));
    if (revised && PlainBase(key) == local::BaseOf(staged.info())) {
      unlinkat(folder_.fd(), key.c_str(), 0);
    }
    if (revised) return taken;
  }
  return local::PlainVersion(staged.info());
}

// With a <key>.rev, whatever its state, the pointer in it decides about writes. Whoever writes the
// plain form looks for a <key>.rev afterwards; whoever makes one looks at the plain form
// afterwards, and before it moves the pointer. So one of two that meet sees the other, and nothing
// that was confirmed is hidden.
Result<Version> LocalStore::CommitAny(Staged staged, const std::string& key) {
  for (int round = 0; round < kRounds; ++round) {
    STOKER_ASSIGN(const sys::ScopedFd rev_dir, OpenRevDir(key));
    if (rev_dir.valid()) {
      STOKER_ASSIGN(const auto current, local::CurrentRevision(rev_dir.get()));
      if (!current) continue;
      const std::string base = current->number > 0 ? current->base : PlainBase(key);
      auto written = CommitRevision(staged, key, rev_dir.get(), *current, base);
      const bool lost = written.code() == Code::kConflict || written.code() == Code::kNotFound;
      if (written.ok() || !lost) return written;
    } else if (renameat(folder_.fd(), staged.name().c_str(), folder_.fd(), key.c_str()) == 0) {
      staged.Published();
      STOKER_TRY(folder_.SyncParent(key));
      bool exists = false;
      STOKER_ASSIGN(const bool ours, GrewFrom(key, local::BaseOf(staged.info()), &exists));
      if (!exists || ours) return local::PlainVersion(staged.info());
      // They may hide the plain file: write ours again, through the pointer.
    } else {
      const int error = errno;
      if (error == EISDIR || error == ENOTEMPTY || error == EEXIST) {
        return FolderInTheWay(folder_, key);
      }
      STOKER_TRY(ClearTheWay(staged, key, error));
      continue;
    }
    // The file's name was spent on a race that is lost.
    if (staged.name().empty()) {
      STOKER_ASSIGN(Staged again, staged.Clone());
      staged = std::move(again);
    }
  }
  return Crowded(key);
}

std::string LocalStore::PlainBase(const std::string& key) const {
  struct stat info = {};
  const int failed = fstatat(folder_.fd(), key.c_str(), &info, AT_SYMLINK_NOFOLLOW);
  return failed == 0 && S_ISREG(info.st_mode) ? local::BaseOf(info) : Hex64(0);
}

Result<Version> LocalStore::CommitRevision(Staged& staged, const std::string& key, int rev_dir,
                                           const Revision& current, const std::string& base) {
  const Revision next{current.number + 1, Hex64(sys::RandomU64()), base};
  const std::string name = next.Name();
  if (renameat(folder_.fd(), staged.name().c_str(), rev_dir, name.c_str()) != 0) {
    if (errno == ENOENT && folder_.Exists(staged.name())) return Lost(key);
    return folder_.Failure("writing", key, errno);
  }
  staged.Published();
  // The last look before the decision; see CommitAny.
  const bool stale = current.number == 0 && PlainBase(key) != base;
  if (stale || renameat(rev_dir, current.Pointer().c_str(), rev_dir, next.Pointer().c_str()) != 0) {
    const int error = stale ? ENOENT : errno;
    // Over NFS a rename that succeeded may be repeated and then say ENOENT.
    const bool mine = error == ENOENT && !stale &&
                      faccessat(rev_dir, next.Pointer().c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0;
    if (!mine) {
      unlinkat(rev_dir, name.c_str(), 0);
      return error == ENOENT ? Lost(key) : folder_.Failure("writing", key, error);
    }
  }
  STOKER_TRY(folder_.Sync(rev_dir, RevDir(key)));
  RemoveOlder(key, rev_dir, next);
  return name;
}

// Data of lost races and of writers that died goes with the older revisions: whoever still wants to
// publish a number that is not above the current one has lost already.
void LocalStore::RemoveOlder(const std::string& key, int rev_dir, const Revision& newest) const {
  std::vector<local::Entry> entries;
  if (!local::ReadEntries(rev_dir, &entries).ok()) return;
  for (const local::Entry& entry : entries) {
    const auto revision = local::ParseRevision(entry.name);
    if (!revision || revision->number > newest.number || entry.name == newest.Name()) continue;
    unlinkat(rev_dir, entry.name.c_str(), 0);
  }
  // Left by a writer that died between making the first revision and removing the plain file.
  unlinkat(folder_.fd(), key.c_str(), 0);
}

Result<Version> LocalStore::CommitFirstRevision(Staged& staged, const std::string& key,
                                                const std::string& base) {
  STOKER_ASSIGN(const sys::ScopedFd rev_dir, MakeRevDir(key));
  if (!rev_dir.valid()) return Lost(key);  // deleted again already, and the plain form before it
  return CommitRevision(staged, key, rev_dir.get(), Revision{}, base);
}

// <key>.rev, which is made in the unborn state unless it is there.
Result<sys::ScopedFd> LocalStore::MakeRevDir(const std::string& key) {
  const std::string dir = RevDir(key);
  STOKER_ASSIGN(sys::ScopedFd there, folder_.OpenDir(dir));
  if (there.valid()) return there;
  // Made elsewhere and renamed: it must never be seen empty.
  STOKER_ASSIGN(const std::string made, folder_.TempName());
  const std::string unborn = made + "/" + std::string(local::kUnborn);
  const auto give_up = [&](int error) {
    (void)sys::RemoveTree(folder_.Path(made));
    return folder_.Failure("making", dir, error);
  };
  if (mkdirat(folder_.fd(), made.c_str(), folder_.folder_mode()) != 0) return give_up(errno);
  const sys::ScopedFd empty(openat(folder_.fd(), unborn.c_str(),
                                   O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, folder_.file_mode()));
  if (!empty.valid()) return give_up(errno);
  // Fails when the target is there, because that is never empty.
  const bool renamed = renameat(folder_.fd(), made.c_str(), folder_.fd(), dir.c_str()) == 0;
  if (!renamed && errno != EEXIST && errno != ENOTEMPTY && errno != ENOENT) return give_up(errno);
  if (!renamed)
    (void)sys::RemoveTree(folder_.Path(made));
  else
    STOKER_TRY(folder_.SyncParent(key));
  return folder_.OpenDir(dir);
}

}  // namespace stoker

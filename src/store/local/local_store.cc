// SPDX-License-Identifier: Apache-2.0
#include "store/local/local_store.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>

namespace stoker {

using local::ParentOf;
using local::RevDir;

namespace {

// A look at a <key>.rev that races with a write may miss the pointer; far fewer looks are enough.
constexpr int kLooks = 200;
constexpr int kQuickLooks = 20;
constexpr Duration kStale = Duration::Hours(1);

// A pipe, a device, a folder in place of what was written there.
Status NoFile(const std::string& path) {
  return Status(Code::kCorrupt, path + ": is no plain file",
                "Somebody put it there by hand; restore the file from a copy");
}

void ShortPause() {
  const struct timespec wait = {0, 1'000'000};
  nanosleep(&wait, nullptr);
}

}  // namespace

class LocalStore::LocalDownload : public Download {
 public:
  LocalDownload(const local::Folder& folder, Found found)
      : folder_(folder), found_(std::move(found)) {}
  const ObjectInfo& info() const override { return found_.info; }
  Result<int64_t> Read(char* buffer, int64_t size) override {
    while (true) {
      const ssize_t got = read(found_.fd.get(), buffer, static_cast<size_t>(size));
      if (got >= 0) return static_cast<int64_t>(got);
      if (errno != EINTR) return folder_.Failure("reading", found_.info.key, errno);
    }
  }

 private:
  const local::Folder& folder_;
  Found found_;
};

class LocalStore::LocalUpload : public Upload {
 public:
  LocalUpload(LocalStore& store, local::Staged staged, std::string key, Condition condition)
      : store_(store),
        staged_(std::move(staged)),
        key_(std::move(key)),
        condition_(std::move(condition)) {}
  Status Write(std::string_view bytes) override { return staged_.Write(bytes); }
  Status WriteFile(int fd, int64_t size) override { return staged_.CopyFrom(fd, size); }
  Result<Version> Commit() override {
    STOKER_TRY(staged_.Seal());
    return store_.Commit(std::move(staged_), key_, condition_);
  }

 private:
  LocalStore& store_;
  local::Staged staged_;
  std::string key_;
  Condition condition_;
};

LocalStore::LocalStore(local::Folder folder, int64_t part_bytes)
    : folder_(std::move(folder)), part_bytes_(part_bytes) {
  traits_.requests_are_free = true;
  traits_.poll = Duration::Ms(50);
  traits_.flush = Duration::Ms(200);
  traits_.follow_flush = Duration::Ms(100);
  traits_.follow = Duration::Ms(50);
  traits_.report = Duration::Seconds(1);
  traits_.usage = Duration::Seconds(15);
}

Result<std::unique_ptr<LocalStore>> LocalStore::Open(const std::string& root, Options options) {
  if (root.empty() || root[0] != '/') {
    return Status(Code::kInvalid, "'" + root + "' is not an absolute path");
  }
  if (!sys::DirExists(root)) {
    // Somebody else may just have made it.
    if (sys::FileExists(root) && !sys::DirExists(root)) {
      return Status(Code::kInvalid, "the store " + root + " is a file, not a folder",
                    "Choose a folder as the store");
    }
    if (!options.make) return Status(Code::kNotFound, "there is no folder " + root);
    const Status made = sys::MakeDirs(root, 0700);
    if (!made.ok()) {
      return made.WithContext("the store cannot be made")
          .WithNext("Make the folder " + root + " yourself, or choose another one as the store");
    }
  }
  auto fd = sys::Open(root, O_RDONLY | O_DIRECTORY);
  if (!fd.ok()) {
    return fd.status()
        .WithContext("the store cannot be opened")
        .WithNext("Give yourself the right to read " + root + ", or choose another store");
  }
  local::Folder folder(root, std::move(fd).value(), options.durable);
  std::unique_ptr<LocalStore> store(new LocalStore(std::move(folder), options.part_bytes));
  if (options.durable && local::SettlesAsOne(store->folder_.fd())) {
    STOKER_ASSIGN(sys::ScopedFd again, sys::Open(root, O_RDONLY | O_DIRECTORY));
    store->unsettled_.reset(
        new LocalStore(local::Folder(root, std::move(again), false), options.part_bytes));
    store->traits_.settles = true;
  }
  if (sys::RandomU64() % 16 == 0) store->folder_.SweepTmp(kStale);
  return store;
}

Status LocalStore::Missing(const std::string& key) const {
  return Status(Code::kNotFound, folder_.Path(key) + ": no such object");
}

Status LocalStore::Lost(const std::string& key) {
  const auto there = Find(key, false);
  if (!there.ok()) return there.status();
  return Status(Code::kConflict, folder_.Path(key) + ": has changed");
}

Result<std::optional<LocalStore::Found>> LocalStore::FindRevision(const std::string& key,
                                                                  int rev_dir, bool open) {
  STOKER_ASSIGN(const auto current, local::CurrentRevision(rev_dir));
  if (!current) return Missing(key);
  if (current->number == 0) return std::optional<Found>();
  std::optional<Found> found(std::in_place);
  struct stat info = {};
  const std::string name = current->Name();
  if (open) {
    // O_NONBLOCK: a pipe that somebody put there must not hang us.
    found->fd.Reset(openat(rev_dir, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!found->fd.valid() && errno == ENOENT) return Missing(key);
    if (!found->fd.valid()) return folder_.Failure("opening", key, errno);
  }
  const int failed = open ? fstat(found->fd.get(), &info)
                          : fstatat(rev_dir, name.c_str(), &info, AT_SYMLINK_NOFOLLOW);
  if (failed != 0 && errno == ENOENT) return Missing(key);
  if (failed != 0) return folder_.Failure("looking at", key, errno);
  if (!S_ISREG(info.st_mode)) return NoFile(folder_.Path(RevDir(key)) + "/" + name);
  found->info = {key, info.st_size, name, local::ModifiedAt(info)};
  return found;
}

Result<std::optional<LocalStore::Found>> LocalStore::FindPlain(const std::string& key, bool open) {
  std::optional<Found> found(std::in_place);
  struct stat info = {};
  int failed;
  do {
    if (open) {
      // O_NONBLOCK: a pipe that somebody put there must not hang us.
      found->fd.Reset(
          openat(folder_.fd(), key.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
      failed = found->fd.valid() ? fstat(found->fd.get(), &info) : -1;
    } else {
      failed = fstatat(folder_.fd(), key.c_str(), &info, AT_SYMLINK_NOFOLLOW);
    }
  } while (failed != 0 && errno == EINTR);
  // A folder, a link, a device: no object.
  if (failed == 0 && !S_ISREG(info.st_mode)) return std::optional<Found>();
  if (failed != 0) {
    const int error = errno;
    const bool absent = error == ENOENT || error == ENOTDIR || error == ELOOP || error == ENXIO;
    if (!absent) return folder_.Failure("opening", key, error);
    return std::optional<Found>();
  }
  found->info = {key, info.st_size, local::PlainVersion(info), local::ModifiedAt(info)};
  return found;
}

Result<sys::ScopedFd> LocalStore::OpenRevDir(const std::string& key) const {
  if (local::Versionless(key)) return sys::ScopedFd();
  return folder_.OpenDir(RevDir(key));
}

Result<bool> LocalStore::HasRevision(const std::string& key) {
  STOKER_ASSIGN(const sys::ScopedFd rev_dir, OpenRevDir(key));
  if (!rev_dir.valid()) return false;
  STOKER_ASSIGN(const auto current, local::CurrentRevision(rev_dir.get()));
  return !current || current->number > 0;  // none seen: it is just changing
}

Result<LocalStore::Found> LocalStore::Find(const std::string& key, bool open) {
  STOKER_TRY(local::ValidateKey(key));
  for (int look = 0; look < kLooks; ++look) {
    if (look >= kQuickLooks) ShortPause();
    STOKER_ASSIGN(const sys::ScopedFd rev_dir, OpenRevDir(key));
    if (rev_dir.valid()) {
      auto found = FindRevision(key, rev_dir.get(), open);
      if (found.status().Is(Code::kNotFound)) continue;
      if (!found.ok()) return found.status();
      if (*found) return std::move(**found);
    }
    STOKER_ASSIGN(auto found, FindPlain(key, open));
    if (found) return std::move(*found);
    // It may have turned from the plain form into revisions between the two looks.
    STOKER_ASSIGN(const bool revised, HasRevision(key));
    if (!revised) return Missing(key);
  }
  return Status(Code::kCorrupt, folder_.Path(RevDir(key)) + ": says no current revision",
                "Somebody removed files there by hand; restore the folder from a copy");
}

void LocalStore::Pause(Duration time) {
  if (time.ms > 0) ShortPause();
}

Result<Object> LocalStore::Get(const std::string& key) {
  STOKER_ASSIGN(Found found, Find(key, true));
  std::string data(static_cast<size_t>(found.info.size), '\0');
  size_t at = 0;
  while (at < data.size()) {
    const ssize_t got = read(found.fd.get(), data.data() + at, data.size() - at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return folder_.Failure("reading", key, errno);
    if (got == 0) return Status(Code::kCorrupt, folder_.Path(key) + ": shrank while it was read");
    at += static_cast<size_t>(got);
  }
  return Object{std::move(found.info), std::move(data), folder_.Now()};
}

Result<ObjectInfo> LocalStore::Head(const std::string& key) {
  STOKER_ASSIGN(Found found, Find(key, false));
  return std::move(found.info);
}

Result<std::unique_ptr<Download>> LocalStore::OpenDownload(const std::string& key) {
  STOKER_ASSIGN(Found found, Find(key, true));
  return std::unique_ptr<Download>(new LocalDownload(folder_, std::move(found)));
}

Result<Version> LocalStore::Put(const std::string& key, std::string_view data,
                                const Condition& condition) {
  STOKER_TRY(local::ValidateKey(key));
  // A race that is lost already costs no fsync.
  if (condition.kind == Condition::Kind::kMatch) STOKER_TRY(CheckMatch(key, condition.version));
  STOKER_ASSIGN(local::Staged staged, local::Staged::Make(folder_));
  STOKER_TRY(staged.Write(data));
  STOKER_TRY(staged.Seal());
  return Commit(std::move(staged), key, condition);
}

Result<std::unique_ptr<Upload>> LocalStore::BeginUpload(const std::string& key,
                                                        const Condition& condition) {
  STOKER_TRY(local::ValidateKey(key));
  STOKER_ASSIGN(local::Staged staged, local::Staged::Make(folder_));
  return std::unique_ptr<Upload>(new LocalUpload(*this, std::move(staged), key, condition));
}

Result<ObjectInfo> LocalStore::PutUnsettled(const std::string& key, ObjectReader& from) {
  return unsettled_ ? unsettled_->PutFrom(key, from) : PutFrom(key, from);
}

Status LocalStore::Settle() {
  if (!unsettled_ || syncfs(folder_.fd()) == 0) return Status::Ok();
  return folder_.Failure("writing to the disk", "", errno);
}

Status LocalStore::RemoveDir(const std::string& relative) const {
  STOKER_ASSIGN(const std::string grave, folder_.TempName());
  if (renameat(folder_.fd(), relative.c_str(), folder_.fd(), grave.c_str()) != 0) {
    return errno == ENOENT ? Status::Ok() : folder_.Failure("deleting", relative, errno);
  }
  // Gone for everybody by now; what is left of it is swept some day.
  (void)sys::RemoveTree(folder_.Path(grave));
  return Status::Ok();
}

Status LocalStore::Delete(const std::string& key) {
  STOKER_TRY(local::ValidateKey(key));
  // The plain file first: it may be a leftover below the revisions, and must not come back.
  if (unlinkat(folder_.fd(), key.c_str(), 0) != 0 && errno != ENOENT && errno != EISDIR &&
      errno != ENOTDIR) {
    return folder_.Failure("deleting", key, errno);
  }
  if (!local::Versionless(key) && folder_.Exists(RevDir(key))) {
    STOKER_TRY(RemoveDir(RevDir(key)));
  }
  folder_.RemoveEmptyParents(key);
  return Status::Ok();
}

}  // namespace stoker

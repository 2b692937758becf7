// SPDX-License-Identifier: Apache-2.0
#include "provider/local/local_queue_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <set>

#include "base/text.h"
#include "provider/local/local_state.h"

namespace stoker {
namespace {

constexpr char kUsualPath[] = "/var/tmp/stoker-queue-v1";
constexpr char kTicketHead[] = "stoker ticket 1";
constexpr char kGrantHead[] = "stoker grant 1";
constexpr char kParted[] = "/parted";  // behind its job, which has no such slot
constexpr char kFresh[] = ".new-";
constexpr int64_t kUnfinishedSeconds = 60;
constexpr int64_t kMostBytes = 16 << 10;
constexpr size_t kMostFiles = 20'000;
constexpr int kLockTries = 500;  // of 10 ms
constexpr size_t kMostName = 100;

struct flock WholeFile() {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return lock;
}

// A plain file of `owner`, whatever has been put into the folder under its name.
Result<sys::ScopedFd> OpenOwned(const std::string& path, uid_t owner) {
  STOKER_ASSIGN(sys::ScopedFd fd, sys::Open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
  struct stat info {};
  if (fstat(fd.get(), &info) != 0) return ErrnoStatus(path, errno);
  if (!S_ISREG(info.st_mode) || info.st_uid != owner || info.st_size > kMostBytes) {
    return Status(Code::kCorrupt, path + ": is not a file of its owner");
  }
  return fd;
}

bool IsHeldFile(int fd) {
  struct flock lock = WholeFile();
  return fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

bool IsHeldPath(const std::string& path, uid_t owner) {
  const auto fd = OpenOwned(path, owner);
  return fd.ok() && IsHeldFile(fd->get());
}

// Whole and locked before it has its name.
Result<sys::ScopedFd> Put(const std::string& folder, const std::string& path,
                          const std::string& text, bool locked) {
  const std::string fresh = folder + "/" + kFresh + std::to_string(sys::RandomU64());
  STOKER_ASSIGN(sys::ScopedFd fd, sys::Open(fresh, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0644));
  struct flock lock = WholeFile();
  Status status = sys::WriteAll(fd.get(), text, fresh);
  if (status.ok() && fchmod(fd.get(), 0644) != 0) status = ErrnoStatus(fresh, errno);
  if (status.ok() && locked && fcntl(fd.get(), F_OFD_SETLK, &lock) != 0) {
    status = ErrnoStatus("locking " + fresh, errno);
  }
  if (status.ok() && rename(fresh.c_str(), path.c_str()) != 0) {
    status = ErrnoStatus("making " + path, errno);
  }
  if (status.ok()) return fd;
  (void)unlink(fresh.c_str());
  return status;
}

std::string Line(std::string text) {
  text = Printable(text);
  if (text.size() > kMostName) text.resize(kMostName);
  return text;
}

bool ParseTicket(const std::string& text, LocalTicketText* out) {
  const std::vector<std::string> lines = Split(text, '\n');
  if (lines.size() < 6 || lines[0] != kTicketHead) return false;
  const auto wants = ParseWants(lines[4]);
  if (!wants.ok()) return false;
  *out = {Printable(lines[1]), Line(lines[2]), Line(lines[3]), *wants, std::atoi(lines[5].c_str())};
  return !out->job.empty();
}

void ParseGrant(const std::string& text, LocalTicket* out) {
  const std::vector<std::string> lines = Split(text, '\n');
  if (lines.size() < 3 || lines[0] != kGrantHead) return;
  out->started = WallTime{std::strtoll(lines[1].c_str(), nullptr, 10)};
  if (const auto gpus = ParseWants("devices=" + lines[2]); !lines[2].empty() && gpus.ok()) {
    out->gpus = gpus->devices;
  }
}

struct FileName {
  char kind = 0;
  uid_t owner = 0;
  std::string host;
  std::string id;
};

bool ParseName(const std::string& name, FileName* out) {
  const std::vector<std::string> parts = Split(name, '.');
  if (parts.size() != 4 || parts[0].size() != 1 || !IsInstanceToken(parts[2]) ||
      !IsInstanceToken(parts[3]) || parts[1].empty() || parts[1].size() > 10 ||
      parts[1].find_first_not_of("0123456789") != std::string::npos) {
    return false;
  }
  *out = {parts[0][0], static_cast<uid_t>(std::strtoul(parts[1].c_str(), nullptr, 10)), parts[2],
          parts[3]};
  return true;
}

}  // namespace

std::string LocalQueuePath() {
  const char* given = std::getenv("STOKER_QUEUE");
  return given != nullptr && given[0] == '/' ? given : kUsualPath;
}

LocalQueueFolder::LocalQueueFolder(std::string path, std::string host)
    : path_(std::move(path)), host_(std::move(host)) {}

std::string LocalQueueFolder::Of(char kind, const std::string& rest) const {
  return path_ + "/" + kind + "." + rest;
}

std::string LocalQueueFolder::Mine(char kind, const std::string& id) const {
  return Of(kind, std::to_string(geteuid()) + "." + host_ + (id.empty() ? "" : "." + id));
}

Status LocalQueueFolder::Make() const {
  constexpr mode_t kAll = 01777;
  struct stat info {};
  if (lstat(path_.c_str(), &info) != 0) {
    if (mkdir(path_.c_str(), 0700) == 0) {
      if (chmod(path_.c_str(), kAll) != 0)
        return ErrnoStatus("opening " + path_ + " to all", errno);
    } else if (errno != EEXIST) {
      return ErrnoStatus("making " + path_, errno);
    }
    if (lstat(path_.c_str(), &info) != 0) return ErrnoStatus(path_, errno);
  }
  if (!S_ISDIR(info.st_mode)) {
    return Status(Code::kDenied, path_ + " is not a folder", "Remove it");
  }
  if ((info.st_mode & kAll) == kAll) return Status::Ok();
  // Whoever made it may have died before it was open to all.
  if (info.st_uid == geteuid() && chmod(path_.c_str(), kAll) == 0) return Status::Ok();
  return Status(Code::kDenied, path_ + " is not open to all users of this machine",
                "Its owner or root: chmod 1777 " + path_);
}

Result<sys::ScopedFd> LocalQueueFolder::Lock() const {
  const std::string path = path_ + "/lock";
  // Not made where it is there: the kernel lets nobody "make" a file of another user in a folder
  // that is open to all (fs.protected_regular).
  auto fd = sys::Open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (fd.code() == Code::kNotFound) {
    fd = sys::Open(path, O_RDONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0644);
    if (fd.ok()) (void)fchmod(fd->get(), 0644);
    if (!fd.ok()) fd = sys::Open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  }
  if (!fd.ok()) return fd.status();
  for (int i = 0; i < kLockTries; ++i) {
    if (::flock(fd->get(), LOCK_EX | LOCK_NB) == 0) return std::move(*fd);
    if (errno != EWOULDBLOCK && errno != EINTR) return ErrnoStatus("locking " + path, errno);
    usleep(10'000);
  }
  return Status(Code::kBusy, path + " has been held by another process for seconds");
}

std::vector<LocalTicketSeen> LocalQueueFolder::Read() const {
  std::vector<LocalTicketSeen> out;
  const auto entries = sys::ListDir(path_);
  if (!entries.ok()) return out;
  std::set<std::string> names;
  for (const sys::DirEntry& entry : *entries) names.insert(entry.name);
  for (const sys::DirEntry& entry : *entries) {
    FileName name;
    if (!ParseName(entry.name, &name) || name.kind != 't' || out.size() >= kMostFiles) continue;
    const auto fd = OpenOwned(path_ + "/" + entry.name, name.owner);
    const auto text = fd.ok() ? sys::ReadAll(fd->get(), entry.name, kMostBytes) : fd.status();
    LocalTicketSeen seen;
    if (!text.ok() || !ParseTicket(*text, &seen.text)) continue;
    seen.id = name.id;
    seen.own = name.owner == geteuid() && name.host == host_;
    const std::string rest = entry.name.substr(2);
    if (names.contains("g." + rest)) {
      const auto grant = OpenOwned(Of('g', rest), name.owner);
      seen.granted = grant.ok();
      seen.held = grant.ok() && IsHeldFile(grant->get());
      const auto said = grant.ok() ? sys::ReadAll(grant->get(), rest, kMostBytes) : grant.status();
      if (said.ok()) ParseGrant(*said, &seen.ticket);
      if (!seen.held && !seen.own) continue;
    }
    const std::string whose = std::to_string(name.owner) + "." + name.host;
    LocalTicket& ticket = seen.ticket;
    ticket.job = whose + "/" + seen.text.job;
    ticket.who = seen.text.who;
    if (name.owner != geteuid()) ticket.who += " of " + seen.text.user;
    ticket.wants = seen.text.wants;
    ticket.running = seen.held;
    ticket.awake = seen.own || IsHeldPath(Of('w', whose), name.owner);
    out.push_back(std::move(seen));
  }
  return out;
}

bool LocalQueueFolder::Has(const std::string& id) const { return sys::FileExists(Mine('t', id)); }

Status LocalQueueFolder::Enter(const std::string& id, const LocalTicketText& text) const {
  const std::string body = std::string(kTicketHead) + "\n" + Printable(text.job) + "\n" +
                           Line(text.who) + "\n" + Line(text.user) + "\n" +
                           EncodeWants(text.wants) + "\n" + std::to_string(text.node) + "\n";
  return Put(path_, Mine('t', id), body, false).status();
}

Result<sys::ScopedFd> LocalQueueFolder::Grant(const std::string& id, WallTime now,
                                              const std::vector<int>& gpus) const {
  std::string list;
  for (const int gpu : gpus) list += (list.empty() ? "" : ",") + std::to_string(gpu);
  return Put(path_, Mine('g', id),
             std::string(kGrantHead) + "\n" + std::to_string(now.ms) + "\n" + list + "\n", true);
}

void LocalQueueFolder::Withdraw(const std::string& id) const {
  const std::string path = Mine('g', id);
  if (!IsHeldPath(path, geteuid())) (void)unlink(path.c_str());
}

bool LocalQueueFolder::Leave(const std::string& id) const {
  if (IsHeldPath(Mine('g', id), geteuid())) return false;
  End(id);
  return true;
}

// The ticket first: without it the grant means nothing to anybody.
void LocalQueueFolder::End(const std::string& id) const {
  (void)unlink(Mine('t', id).c_str());
  (void)unlink(Mine('g', id).c_str());
}

Status LocalQueueFolder::Part(const std::string& id) const {
  for (const LocalTicketSeen& seen : Read()) {
    if (!seen.own || seen.id != id || seen.text.job.ends_with(kParted)) continue;
    LocalTicketText text = seen.text;
    text.job += kParted;
    return Enter(id, text);
  }
  return Status::Ok();
}

void LocalQueueFolder::RemoveUnfinished() const {
  const auto entries = sys::ListDir(path_);
  for (const sys::DirEntry& entry : entries.value_or({})) {
    const std::string path = path_ + "/" + entry.name;
    struct stat info {};
    if (!StartsWith(entry.name, kFresh) || lstat(path.c_str(), &info) != 0) continue;
    const bool old = std::time(nullptr) - info.st_mtime > kUnfinishedSeconds;
    if (old && info.st_uid == geteuid()) (void)unlink(path.c_str());
  }
}

void LocalQueueFolder::Touch(const std::string& id) const {
  (void)utimensat(AT_FDCWD, Mine('t', id).c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
  (void)utimensat(AT_FDCWD, Mine('g', id).c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
}

Result<sys::ScopedFd> LocalQueueFolder::BeWaiter() const {
  if (HasWaiter()) return Status(Code::kBusy, "somebody waits already");
  return Put(path_, Mine('w', ""), "", true);
}

void LocalQueueFolder::EndWaiter() const { (void)unlink(Mine('w', "").c_str()); }

bool LocalQueueFolder::HasWaiter() const { return IsHeldPath(Mine('w', ""), geteuid()); }

}  // namespace stoker

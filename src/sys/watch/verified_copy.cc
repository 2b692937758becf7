// SPDX-License-Identifier: Apache-2.0
#include "sys/watch/verified_copy.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "base/text.h"
#include "sys/watch/directory_scan.h"

namespace stoker {
namespace {

constexpr int64_t kPiece = 8 << 20;
constexpr int64_t kLarge = 1 << 20;  // from here on a descriptor is worth it
constexpr int64_t kBlock = 4096;

// After this long the kernel takes a wanted lease away (proc(5), fs/lease-break-time).
Duration LeaseBreakTime() {
  auto text = sys::ReadFile("/proc/sys/fs/lease-break-time", 64);
  const long seconds = text.ok() ? std::strtol(text->c_str(), nullptr, 10) : 0;
  return Duration::Seconds(seconds > 0 ? seconds : 45);
}

Status Failed(const std::string& what, const std::string& path) {
  return ErrnoStatus(what + " '" + Printable(path) + "'", errno);
}

// Plain copying of [from, to) to `shift` bytes behind, for file systems without copy_file_range.
Status CopyByHand(int in, int out, int64_t from, int64_t to, int64_t shift) {
  std::vector<char> buffer(1 << 20);
  while (from < to) {
    const size_t wanted = static_cast<size_t>(std::min<int64_t>(to - from, 1 << 20));
    const ssize_t got = pread(in, buffer.data(), wanted, from);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ErrnoStatus("cannot read a checkpoint file", errno);
    if (got == 0) return Status(Code::kConflict, "a checkpoint file became shorter");
    for (ssize_t done = 0; done < got;) {
      const ssize_t put =
          pwrite(out, buffer.data() + done, static_cast<size_t>(got - done), from + shift + done);
      if (put < 0 && errno == EINTR) continue;
      if (put < 0) return ErrnoStatus("cannot copy a checkpoint file", errno);
      done += put;
    }
    from += got;
  }
  return Status::Ok();
}

Status CopyPiece(int in, int out, int64_t from, int64_t to, int64_t shift) {
  while (from < to) {
    loff_t in_at = from;
    loff_t out_at = from + shift;
    const ssize_t moved =
        copy_file_range(in, &in_at, out, &out_at, static_cast<size_t>(to - from), 0);
    if (moved > 0) {
      from += moved;
      continue;
    }
    if (moved < 0 && errno == EINTR) continue;
    if (moved < 0 && (errno == ENOSPC || errno == EDQUOT || errno == EIO)) {
      return ErrnoStatus("cannot copy a checkpoint file", errno);
    }
    return CopyByHand(in, out, from, to, shift);
  }
  return Status::Ok();
}

// The next piece of [at, end) that is no hole; {end, end} when there is none. A file system that
// knows of no holes has none.
std::pair<int64_t, int64_t> NextData(int fd, int64_t at, int64_t end) {
  const off_t data = lseek(fd, at, SEEK_DATA);
  if (data < 0) return errno == ENXIO ? std::pair{end, end} : std::pair{at, end};
  const off_t hole = lseek(fd, data, SEEK_HOLE);
  const int64_t to = hole < 0 ? end : std::min<int64_t>(hole, end);
  return {std::min<int64_t>(data, end), to};
}

// `going_on` is asked after each piece.
template <class GoingOn>
Status CopyData(int in, int out, const FileFact& fact, int64_t shift, GoingOn going_on) {
  const bool holes = fact.allocated < fact.size;
  for (int64_t at = 0; at < fact.size;) {
    const auto [from, hole] = holes ? NextData(in, at, fact.size) : std::pair{at, fact.size};
    at = std::min(from + kPiece, hole);
    STOKER_TRY(CopyPiece(in, out, from, at, shift));
    STOKER_TRY(going_on());
  }
  return Status::Ok();
}

// A nameless file in `folder`.
Result<sys::ScopedFd> NamelessFile(const std::string& folder) {
  sys::ScopedFd fd(open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (fd.valid()) return fd;
  if (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT) {
    return Failed("cannot make a copy in", folder);
  }
  STOKER_TRY(sys::MakeDirs(folder, 0700));
  std::string name = folder + "/copy-XXXXXX";
  fd.Reset(open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (fd.valid()) return fd;
  fd.Reset(mkostemp(name.data(), O_CLOEXEC));
  if (!fd.valid()) return Failed("cannot make a copy in", folder);
  (void)unlink(name.c_str());
  return fd;
}

}  // namespace

Result<HeldFile> HeldFile::Open(const std::string& root, const FileFact& fact, Clock& clock,
                                bool even_if_open) {
  HeldFile held;
  held.fact_ = fact;
  const std::string path = root + "/" + fact.path;
  held.fd_.Reset(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!held.fd_.valid()) {
    if (errno == ENOENT) return Status(Code::kConflict, "'" + fact.path + "' is gone");
    return Failed("cannot open", fact.path);
  }
  held.since_ = clock.Mono();
  // The kernel tells the holder that a lease is wanted by a signal; the default one, SIGIO, would
  // end this process. SIGURG is ignored unless somebody asks for it.
  (void)fcntl(held.fd(), F_SETSIG, SIGURG);
  if (fcntl(held.fd(), F_SETLEASE, F_RDLCK) == 0) {
    held.leased_ = true;
  } else if (errno == EAGAIN && !even_if_open) {
    return Status(Code::kBusy, "'" + fact.path + "' is open for writing");
  }
  struct stat info;
  if (fstat(held.fd(), &info) != 0) return Failed("cannot look at", fact.path);
  const FileFact now = FactOf(fact.path, info);
  if (now.kind != FileKind::kFile || now.ino != fact.ino || now.size != fact.size ||
      now.mtime_ns != fact.mtime_ns) {
    return Status(Code::kConflict, "'" + fact.path + "' has changed");
  }
  return held;
}

bool HeldFile::Wanted() const { return leased_ && fcntl(fd(), F_GETLEASE) != F_RDLCK; }

Status HeldFile::StillSame(Clock& clock) const {
  // A lease that is wanted protects until the kernel takes it away, and not before.
  if (leased_ && Wanted() && clock.Mono() - since_ >= LeaseBreakTime() / 2) {
    return Status(Code::kConflict, "the copy of '" + fact_.path + "' took too long");
  }
  struct stat info;
  if (fstat(fd(), &info) != 0) return Failed("cannot look at", fact_.path);
  const FileFact now = FactOf(fact_.path, info);
  if (now.size != fact_.size || now.mtime_ns != fact_.mtime_ns) {
    return Status(Code::kConflict, "'" + fact_.path + "' changed while it was copied");
  }
  return Status::Ok();
}

Result<Copier::Place> Copier::MakePlace(int64_t size) {
  Place place;
  if ((few_ || size >= kLarge) && own_left_ > 0) {
    STOKER_ASSIGN(place.own, NamelessFile(folder_));
    --own_left_;
    place.fd = place.own.get();
    return place;
  }
  if (into_.pack() < 0) {
    STOKER_ASSIGN(sys::ScopedFd pack, NamelessFile(folder_));
    into_.SetPack(std::move(pack));
  }
  place.fd = into_.pack();
  // Where blocks begin they can be shared; tiny files would lose more by that than they win.
  const int64_t grain = size >= kBlock ? kBlock : 1;
  place.base = (into_.pack_size() + grain - 1) / grain * grain;
  return place;
}

Status Copier::Done(Place place, const FileFact& fact) {
  // A hole at the end.
  if (ftruncate(place.fd, place.base + fact.size) != 0) {
    return ErrnoStatus("cannot copy a checkpoint file", errno);
  }
  if (place.own.valid()) {
    into_.Add(fact, std::move(place.own));
  } else {
    into_.AddPacked(fact, place.base);
  }
  return Status::Ok();
}

Status Copier::Copy(const HeldFile& held, MonoTime deadline, Clock& clock) {
  const FileFact& fact = held.fact();
  STOKER_ASSIGN(Place place, MakePlace(fact.size));
  if (!place.own.valid() || ioctl(place.fd, FICLONE, held.fd()) != 0) {
    STOKER_TRY(CopyData(held.fd(), place.fd, fact, place.base, [&]() -> Status {
      if (clock.Mono() <= deadline || !held.Wanted()) return Status::Ok();
      return Status(Code::kBusy, "'" + fact.path + "' is wanted by its writer");
    }));
  }
  return Done(std::move(place), fact);
}

Status Copier::CopyPrefix(int fd, const FileFact& fact) {
  STOKER_ASSIGN(Place place, MakePlace(fact.size));
  STOKER_TRY(CopyData(fd, place.fd, fact, place.base, [] { return Status::Ok(); }));
  return Done(std::move(place), fact);
}

Status CompareContents(int original, FileSnapshot::Copy copy, int64_t size) {
  std::vector<char> left(1 << 20);
  std::vector<char> right(1 << 20);
  for (int64_t at = 0; at < size;) {
    const size_t wanted = static_cast<size_t>(std::min<int64_t>(size - at, 1 << 20));
    const ssize_t got = pread(original, left.data(), wanted, at);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return Status(Code::kConflict, "a checkpoint file became shorter");
    for (ssize_t done = 0; done < got;) {
      const ssize_t other = pread(copy.fd, right.data() + done, static_cast<size_t>(got - done),
                                  copy.base + at + done);
      if (other < 0 && errno == EINTR) continue;
      if (other <= 0) return Status(Code::kConflict, "a copy is shorter than its original");
      done += other;
    }
    if (std::memcmp(left.data(), right.data(), static_cast<size_t>(got)) != 0) {
      return Status(Code::kConflict, "a checkpoint file changed while it was copied");
    }
    at += got;
  }
  return Status::Ok();
}

}  // namespace stoker

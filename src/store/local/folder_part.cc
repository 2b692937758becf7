// SPDX-License-Identifier: Apache-2.0
#include "store/local/folder_part.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/digest.h"
#include "base/text.h"
#include "store/local/local_layout.h"
#include "sys/sparse_write.h"

namespace stoker::folder {
namespace {

constexpr size_t kHeader = 128;
constexpr size_t kMostName = 255;  // of one component, on every file system that matters
constexpr int kTries = 20;

// One row of the table.
struct Row {
  uint32_t mark = 0;
  uint32_t crc = 0;
};
constexpr uint32_t kWhole = 0x70617274;          // with a checksum
constexpr uint32_t kWholeUnsummed = 0x50415254;  // without

constexpr std::string_view kPart = ".stoker-part";
constexpr size_t kMark = 16;  // hex digits

// Nobody's file has it by chance.
std::string MarkOf(const std::string& stem) {
  return Sha256Hex("stoker-part\n" + stem).substr(0, kMark);
}

}  // namespace

std::string PartName(const std::string& name) {
  std::string stem = name;
  if (stem.size() + 1 + kMark + kPart.size() > kMostName) {
    size_t cut = kMostName - 2 * (kMark + 1) - kPart.size();
    while (cut > 0 && (static_cast<unsigned char>(stem[cut]) & 0xc0) == 0x80) --cut;
    stem = stem.substr(0, cut) + "-" + Sha256Hex(name).substr(0, kMark);
  }
  return stem + "." + MarkOf(stem) + std::string(kPart);
}

bool IsPartName(const std::string& name) {
  const size_t tail = 1 + kMark + kPart.size();
  if (name.size() <= tail || !EndsWith(name, kPart)) return false;
  const std::string stem = name.substr(0, name.size() - tail);
  return name[stem.size()] == '.' && name.compare(stem.size() + 1, kMark, MarkOf(stem)) == 0;
}

Status PartFile::Claim() {
  for (int i = 0; i < kTries; ++i) {
    fd_.Reset(openat(place_.folder.get(), temp_.c_str(),
                     O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666));
    if (!fd_.valid()) return ErrnoStatus("writing " + place_.path, errno);
    if (flock(fd_.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno == EINTR) continue;
      if (errno != EWOULDBLOCK) return Status::Ok();  // a file system without locks
      return Status(Code::kBusy, place_.path + " is being written by another process",
                    "Wait until it ends, or end it");
    }
    // Whoever held the lock may have given the file its name, or removed it.
    struct stat held {};
    struct stat there {};
    if (fstat(fd_.get(), &held) == 0 &&
        fstatat(place_.folder.get(), temp_.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0 &&
        held.st_ino == there.st_ino && held.st_dev == there.st_dev && S_ISREG(held.st_mode)) {
      return Status::Ok();
    }
  }
  return Status(Code::kBusy, "the lock of " + place_.path + " cannot be had");
}

std::string PartFile::Header(const std::string& nonce) const {
  std::string text = "stoker-part 1 " + nonce + " " + std::to_string(size_) + " " +
                     std::to_string(part_size_) + " " + sys::BootId() + "\n";
  text.resize(kHeader, ' ');
  return text;
}

bool PartFile::Resume(const std::string& id) {
  std::string header(kHeader, '\0');
  if (pread(fd_.get(), header.data(), kHeader, size_) != static_cast<ssize_t>(kHeader) ||
      header != Header(id) || sys::BootId().empty()) {
    return false;
  }
  const int64_t parts = (size_ + part_size_ - 1) / part_size_;
  for (int64_t n = 0; n < parts; ++n) {
    Row row;
    const auto at = size_ + static_cast<int64_t>(kHeader + static_cast<size_t>(n) * sizeof row);
    if (pread(fd_.get(), &row, sizeof row, at) != static_cast<ssize_t>(sizeof row)) continue;
    PartSum sum{std::min(part_size_, size_ - n * part_size_), std::nullopt};
    if (row.mark == kWhole) sum.crc32c = row.crc;
    if (row.mark == kWhole || row.mark == kWholeUnsummed) done_[static_cast<int>(n)] = sum;
  }
  id_ = id;
  return true;
}

Status PartFile::Begin() {
  if (ftruncate(fd_.get(), 0) != 0) return ErrnoStatus("writing " + place_.path, errno);
  if (part_size_ == 0) return Status::Ok();
  id_ = Hex64(sys::RandomU64());
  return WriteAt(size_, Header(id_));
}

Result<std::unique_ptr<PartFile>> PartFile::Open(Place place, int64_t size, int64_t part_size,
                                                 const std::string& resume) {
  std::unique_ptr<PartFile> file(new PartFile(std::move(place), size, part_size));
  file->temp_ = PartName(file->place_.name);
  STOKER_TRY(file->Claim());
  if (!resume.empty() && part_size > 0 && file->Resume(resume)) return file;
  STOKER_TRY(file->Begin());
  return file;
}

Status PartFile::WriteAt(int64_t offset, std::string_view bytes) {
  // The kernel lets one writer of a file in at a time and has the others spin: here they sleep.
  const std::lock_guard lock(writing_);
  const bool written = part_size_ > 0 ? sys::WriteSparse(fd_.get(), offset, bytes)
                                      : sys::WriteWhole(fd_.get(), offset, bytes);
  return written ? Status::Ok() : ErrnoStatus("writing " + place_.path, errno);
}

Status PartFile::Note(int n, const PartSum& sum) {
  const Row row{sum.crc32c ? kWhole : kWholeUnsummed, sum.crc32c.value_or(0)};
  char bytes[sizeof row];
  std::memcpy(bytes, &row, sizeof row);
  (void)sync_file_range(fd_.get(), n * part_size_, sum.size, SYNC_FILE_RANGE_WRITE);
  const auto at = size_ + static_cast<int64_t>(kHeader + static_cast<size_t>(n) * sizeof row);
  return WriteAt(at, {bytes, sizeof row});
}

Status PartFile::CutTable() {
  if (part_size_ == 0 || ftruncate(fd_.get(), size_) == 0) return Status::Ok();
  return ErrnoStatus("writing " + place_.path, errno);
}

Result<PartFile::Released> PartFile::Release() {
  STOKER_TRY(CutTable());
  return Released{std::move(fd_), temp_};
}

Result<ObjectInfo> PartFile::Publish(WallTime modified, bool executable) {
  STOKER_TRY(CutTable());
  timespec times[2] = {{0, UTIME_OMIT}, {}};
  times[1].tv_sec = modified.ms / 1000;
  times[1].tv_nsec = modified.ms % 1000 * 1'000'000;
  if (futimens(fd_.get(), times) != 0) return ErrnoStatus("stamping " + place_.path, errno);
  STOKER_TRY(MarkExecutable(fd_.get(), executable).status().WithContext(place_.path));
  if (part_size_ > 0 && fsync(fd_.get()) != 0) {
    return ErrnoStatus("writing " + place_.path + " to the disk", errno);
  }
  struct stat info {};
  if (fstat(fd_.get(), &info) != 0) return ErrnoStatus("looking at " + place_.path, errno);
  const Status named = GiveName();
  if (!named.ok()) {
    Remove();
    return named;
  }
  ObjectInfo published = InfoOf(place_.key, info);
  if (place_.written) place_.written(published);
  return published;
}

Status PartFile::GiveName() {
  const int folder = place_.folder.get();
  for (int tries = 0;; ++tries) {
    if (renameat(folder, temp_.c_str(), folder, place_.name.c_str()) == 0) return Status::Ok();
    const int error = errno;
    const bool taken = error == EISDIR || error == ENOTEMPTY || error == EEXIST;
    if (!taken) return ErrnoStatus("writing " + place_.path, error);
    if (!place_.make_way || tries > 0) {
      return Status(Code::kExists, place_.path + " is a folder", "Move it out of the way");
    }
    STOKER_TRY(place_.make_way());
  }
}

void PartFile::Remove() { (void)unlinkat(place_.folder.get(), temp_.c_str(), 0); }

}  // namespace stoker::folder

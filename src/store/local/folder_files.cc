// SPDX-License-Identifier: Apache-2.0
#include "store/local/folder_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/crc32c.h"
#include "base/text.h"
#include "port/checksummed.h"
#include "store/bytes/transfer_buffer.h"
#include "store/local/folder_part.h"

namespace stoker::folder {
namespace {

constexpr int64_t kPartBytes = 16 << 20;
constexpr int64_t kMostParts = 10'000;  // as S3 has them: the same parts can be checked

class Reader : public ObjectReader, public Checksummed {
 public:
  Reader(sys::ScopedFd fd, ObjectInfo info, std::string path, Version stamp)
      : fd_(std::move(fd)),
        info_(std::move(info)),
        path_(std::move(path)),
        stamp_(std::move(stamp)) {}
  const ObjectInfo& info() const override { return info_; }
  bool ranged() const override { return true; }
  int fd() const override { return fd_.get(); }

  Status Read(int64_t offset, int64_t size, const TakeBytes& take) override {
    char* const buffer = TransferBuffer();
    while (size > 0) {
      const auto want = static_cast<size_t>(std::min(size, kTransferBuffer));
      const ssize_t got = pread(fd_.get(), buffer, want, offset);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return ErrnoStatus("reading " + path_, errno);
      if (got == 0) return Changed();
      STOKER_TRY(take({buffer, static_cast<size_t>(got)}));
      offset += got;
      size -= got;
    }
    return Status::Ok();
  }

  Result<std::optional<uint32_t>> Checksum() override {
    uint32_t crc = 0;
    STOKER_TRY(Read(0, info_.size, [&](std::string_view bytes) {
      crc = Crc32c(bytes, crc);
      return Status::Ok();
    }));
    STOKER_TRY(Confirm({}));
    return std::optional<uint32_t>(crc);
  }

  Status Confirm(const std::vector<PartSum>&) override {
    struct stat now {};
    if (fstat(fd_.get(), &now) != 0) return ErrnoStatus("looking at " + path_, errno);
    return InfoOf(info_.key, now).version == stamp_ ? Status::Ok() : Changed();
  }

 private:
  Status Changed() const {
    return Status(Code::kConflict, path_ + " changed while it was read",
                  "Sync again when nobody writes it");
  }

  const sys::ScopedFd fd_;
  const ObjectInfo info_;
  const std::string path_;
  const Version stamp_;  // what the file itself looks like, as InfoOf tells it
};

// Makes [at, end) a hole, whatever was there before. False: it must be written.
bool MakeHole(int file, int64_t at, int64_t end) {
  struct stat now {};
  return fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at, end - at) == 0 &&
         fstat(file, &now) == 0 && (now.st_size >= end || ftruncate(file, end) == 0);
}

// Where the bytes from `at` on end that are all in a hole, or all in none.
int64_t EndOfKind(int file, int64_t at, int64_t end, bool* hole) {
  const off_t data = lseek(file, at, SEEK_DATA);
  struct stat now {};
  // What lies behind the file's end is no hole: it may have become shorter.
  const bool last = data < 0 && errno == ENXIO && fstat(file, &now) == 0 && now.st_size >= end;
  *hole = data > at || last;
  if (*hole) return last ? end : std::min<int64_t>(data, end);
  const off_t next = data < 0 ? data : lseek(file, at, SEEK_HOLE);
  return next > at ? std::min<int64_t>(next, end) : end;
}

// Copies [at, at + size) in the kernel; how far it came. Holes stay holes.
int64_t CopyInKernel(int source, int target, int64_t at, int64_t size) {
  const int64_t end = at + size;
  while (at < end) {
    bool hole = false;
    const int64_t until = EndOfKind(source, at, end, &hole);
    if (hole && MakeHole(target, at, until)) {
      at = until;
      continue;
    }
    loff_t from = at;
    loff_t to = at;
    const ssize_t got =
        copy_file_range(source, &from, target, &to, static_cast<size_t>(until - at), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    at += got;
  }
  return at;
}

// [offset, offset + size) of `from` to the same place of `part`.
Result<PartSum> CopyRange(PartFile& part, ObjectReader& from, int64_t offset, int64_t size) {
  const int64_t end = offset + size;
  const int64_t at = from.fd() < 0 ? offset : CopyInKernel(from.fd(), part.fd(), offset, size);
  if (at == end && size > 0) return PartSum{size, std::nullopt};
  uint32_t crc = 0;
  int64_t to = at;
  STOKER_TRY(from.Read(at, end - at, [&](std::string_view bytes) -> Status {
    crc = Crc32c(bytes, crc);
    const Status wrote = part.WriteAt(to, bytes);
    if (wrote.ok()) to += static_cast<int64_t>(bytes.size());
    return wrote;
  }));
  return PartSum{size, at == offset ? std::optional<uint32_t>(crc) : std::nullopt};
}

class Parts : public PartsUpload {
 public:
  Parts(std::unique_ptr<PartFile> file, ObjectInfo from, std::string id,
        std::function<Result<ObjectInfo>(PartFile&)> publish)
      : file_(std::move(file)),
        from_(std::move(from)),
        id_(std::move(id)),
        publish_(std::move(publish)) {
    done_ = file_->done();
  }
  const std::string& id() const override { return id_; }
  int64_t part_size() const override { return file_->part_size(); }
  const std::map<int, PartSum>& done() const override { return done_; }
  bool parallel() const override { return true; }
  int64_t memory(const ObjectReader&) const override { return kTransferBuffer; }
  Result<PartSum> WritePart(int n, ObjectReader& from) override {
    const int64_t offset = n * part_size();
    if (n < 0 || offset >= from_.size) {
      return Status(Code::kInternal, "part " + std::to_string(n) + " of " + from_.key);
    }
    const int64_t size = std::min(part_size(), from_.size - offset);
    STOKER_ASSIGN(const PartSum sum, CopyRange(*file_, from, offset, size));
    STOKER_TRY(file_->Note(n, sum));
    return sum;
  }
  Result<ObjectInfo> Commit() override { return publish_(*file_); }
  void Abort() override { file_->Remove(); }

 private:
  const std::unique_ptr<PartFile> file_;
  const ObjectInfo from_;
  const std::string id_;
  const std::function<Result<ObjectInfo>(PartFile&)> publish_;
  std::map<int, PartSum> done_;
};

}  // namespace

ObjectInfo InfoOf(const std::string& key, const struct stat& file) {
  const int64_t seconds = file.st_mtim.tv_sec;
  ObjectInfo info;
  info.key = key;
  info.size = file.st_size;
  info.last_modified = {seconds * 1000 + file.st_mtim.tv_nsec / 1'000'000};
  info.version = std::to_string(seconds) + "." + std::to_string(file.st_mtim.tv_nsec) + "-" +
                 std::to_string(file.st_size) + "-" + std::to_string(file.st_ino);
  info.executable = (file.st_mode & S_IXUSR) != 0;
  return info;
}

Result<bool> MarkExecutable(int fd, bool executable) {
  struct stat now {};
  if (fstat(fd, &now) != 0) return ErrnoStatus("looking at it", errno);
  const mode_t before = now.st_mode & 07777;
  if (((before & S_IXUSR) != 0) == executable) return false;
  const mode_t readers = (before & (S_IRUSR | S_IRGRP | S_IROTH)) >> 2;
  const mode_t mode =
      executable ? before | readers | S_IXUSR : before & ~mode_t{S_IXUSR | S_IXGRP | S_IXOTH};
  if (fchmod(fd, mode) != 0 && errno != EPERM && errno != ENOTSUP && errno != EINVAL) {
    return ErrnoStatus("changing its mode", errno);
  }
  if (fstat(fd, &now) != 0) return ErrnoStatus("looking at it", errno);
  return ((now.st_mode & S_IXUSR) != 0) == executable;
}

Result<std::unique_ptr<ObjectReader>> MakeReader(sys::ScopedFd fd, ObjectInfo info,
                                                 std::string path) {
  const Version stamp = info.version;
  auto reader = std::make_unique<Reader>(std::move(fd), std::move(info), std::move(path), stamp);
  STOKER_TRY(reader->Confirm({}));
  return std::unique_ptr<ObjectReader>(std::move(reader));
}

Result<std::unique_ptr<ObjectReader>> MakeReaderAsItIs(sys::ScopedFd fd, ObjectInfo info,
                                                       std::string path) {
  struct stat now {};
  if (fstat(fd.get(), &now) != 0) return ErrnoStatus("looking at " + path, errno);
  const Version stamp = InfoOf(info.key, now).version;
  return std::unique_ptr<ObjectReader>(
      std::make_unique<Reader>(std::move(fd), std::move(info), std::move(path), stamp));
}

Result<ObjectInfo> WriteWhole(Place place, ObjectReader& from) {
  const ObjectInfo& info = from.info();
  STOKER_ASSIGN(const auto file, PartFile::Open(std::move(place), info.size, 0, ""));
  const auto sum = CopyRange(*file, from, 0, info.size);
  Status status = sum.ok() ? from.Confirm({*sum}) : sum.status();
  const auto executable = from.Executable();
  if (status.ok()) status = executable.status();
  if (status.ok()) return file->Publish(info.last_modified, *executable);
  file->Remove();
  return status;
}

int64_t PartBytes(int64_t size, int64_t least) {
  return std::max(least, (size + kMostParts - 1) / kMostParts);
}

std::unique_ptr<PartsUpload> PartsInto(std::unique_ptr<PartFile> file, const ObjectInfo& from,
                                       std::string id,
                                       std::function<Result<ObjectInfo>(PartFile&)> publish) {
  return std::make_unique<Parts>(std::move(file), from, std::move(id), std::move(publish));
}

Result<std::unique_ptr<PartsUpload>> MakeParts(Place place, const ObjectInfo& from,
                                               const std::string& resume) {
  STOKER_ASSIGN(auto file, PartFile::Open(std::move(place), from.size,
                                          PartBytes(from.size, kPartBytes), resume));
  const std::string id = file->id();
  return PartsInto(std::move(file), from, id,
                   [modified = from.last_modified, executable = from.executable](PartFile& whole) {
                     return whole.Publish(modified, executable);
                   });
}

}  // namespace stoker::folder

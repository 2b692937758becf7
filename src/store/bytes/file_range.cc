// SPDX-License-Identifier: Apache-2.0
#include "store/bytes/file_range.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/crc32c.h"
#include "store/bytes/transfer_buffer.h"

namespace stoker {

Status ReadRange(int fd, int64_t offset, int64_t size,
                 const std::function<Status(std::string_view)>& each) {
  char* const buffer = TransferBuffer();
  while (size > 0) {
    const auto want = static_cast<size_t>(std::min(size, kTransferBuffer));
    const ssize_t got = pread(fd, buffer, want, offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ErrnoStatus("reading the file to be uploaded", errno);
    if (got == 0) return Status(Code::kCorrupt, "the file became shorter while it was uploaded");
    STOKER_TRY(each({buffer, static_cast<size_t>(got)}));
    offset += got;
    size -= got;
  }
  return Status::Ok();
}

Result<uint32_t> ChecksumOfRange(int fd, int64_t offset, int64_t size, uint32_t before) {
  uint32_t crc = before;
  STOKER_TRY(ReadRange(fd, offset, size, [&crc](std::string_view piece) {
    crc = Crc32c(piece, crc);
    return Status::Ok();
  }));
  return crc;
}

}  // namespace stoker

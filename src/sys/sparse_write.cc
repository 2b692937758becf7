// SPDX-License-Identifier: Apache-2.0
#include "sys/sparse_write.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace stoker::sys {
namespace {

constexpr size_t kGrain = 64 << 10;

bool IsZero(std::string_view bytes) {
  return bytes.size() == kGrain && bytes.front() == 0 &&
         std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0;
}

}  // namespace

bool WriteWhole(int fd, int64_t offset, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t wrote = pwrite(fd, bytes.data(), bytes.size(), offset);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return false;
    offset += wrote;
    bytes.remove_prefix(static_cast<size_t>(wrote));
  }
  return true;
}

bool WriteSparse(int fd, int64_t offset, std::string_view bytes) {
  for (size_t at = 0; at < bytes.size();) {
    const bool zero = IsZero(bytes.substr(at, kGrain));
    size_t end = at;
    while (end < bytes.size() && IsZero(bytes.substr(end, kGrain)) == zero) {
      end = std::min(end + kGrain, bytes.size());
    }
    const int64_t to = offset + static_cast<int64_t>(at);
    const bool hole = zero && fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, to,
                                        static_cast<off_t>(end - at)) == 0;
    if (!hole && !WriteWhole(fd, to, bytes.substr(at, end - at))) return false;
    at = end;
  }
  return true;
}

}  // namespace stoker::sys

// SPDX-License-Identifier: Apache-2.0
#include "sys/watch/told_lines.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

namespace stoker {
namespace {

constexpr int64_t kAtOnce = 1 << 20;
constexpr size_t kMostLine = 64 << 10;

}  // namespace

std::vector<std::string> ToldLines::Take() {
  std::vector<std::string> out;
  struct stat fact;
  if (path_.empty() || stat(path_.c_str(), &fact) != 0 || !S_ISREG(fact.st_mode)) return out;
  if (fact.st_size < at_) at_ = 0, begun_.clear();
  if (fact.st_size == at_) return out;
  const int fd = open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return out;
  std::string bytes(static_cast<size_t>(std::min<int64_t>(fact.st_size - at_, kAtOnce)), '\0');
  const ssize_t got = pread(fd, bytes.data(), bytes.size(), at_);
  close(fd);
  if (got <= 0) return out;
  at_ += got;
  begun_.append(bytes, 0, static_cast<size_t>(got));
  size_t from = 0;
  for (size_t end = begun_.find('\n'); end != std::string::npos; end = begun_.find('\n', from)) {
    if (end - from <= kMostLine) out.push_back(begun_.substr(from, end - from));
    from = end + 1;
  }
  begun_.erase(0, from);
  // Its rest is to be no line of its own.
  if (begun_.size() > kMostLine) begun_.resize(kMostLine + 1);
  return out;
}

}  // namespace stoker

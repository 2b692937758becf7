// SPDX-License-Identifier: Apache-2.0
#include "store/local/folder_apart.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "sys/file.h"

namespace stoker::folder {
namespace {

constexpr int kLook = O_PATH | O_DIRECTORY | O_CLOEXEC;

bool Has(const std::vector<Identity>& all, const Identity& one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

}  // namespace

Result<Identity> IdentityOf(int fd) {
  struct stat info {};
  if (fstat(fd, &info) != 0) return ErrnoStatus("looking at a folder", errno);
  return Identity{info.st_dev, info.st_ino};
}

Result<Chain> ChainOf(const std::string& path) {
  Chain chain;
  std::string at = path;
  sys::ScopedFd fd;
  while (true) {
    fd.Reset(open(at.c_str(), kLook));
    if (fd.valid()) break;
    const size_t slash = at.rfind('/');
    if (errno != ENOENT || slash == std::string::npos || at == "/") {
      return ErrnoStatus("looking at " + at, errno);
    }
    chain.whole = false;
    at.resize(slash == 0 ? 1 : slash);
  }
  while (true) {
    STOKER_ASSIGN(const Identity here, IdentityOf(fd.get()));
    if (!chain.folders.empty() && chain.folders.back() == here) return chain;
    chain.folders.push_back(here);
    const int up = openat(fd.get(), "..", kLook);
    if (up < 0) return chain;
    fd.Reset(up);
  }
}

Status CheckNesting(const std::string& source, bool source_is_file, const std::string& target) {
  STOKER_ASSIGN(const Chain from, ChainOf(source));
  STOKER_ASSIGN(const Chain to, ChainOf(target));
  const std::string next = "Name two places that have nothing in common";
  if (to.whole && to.folders.front() == from.folders.front() && !source_is_file) {
    return Status(Code::kUsage, source + " and " + target + " are the same folder", next);
  }
  if (to.whole && Has(from.folders, to.folders.front())) {
    return Status(Code::kUsage,
                  source + " and " + target +
                      " overlap: the first lies in the second once links are followed",
                  next);
  }
  if (!source_is_file && Has(to.folders, from.folders.front())) {
    return Status(Code::kUsage,
                  source + " and " + target +
                      " overlap: the second lies in the first once links are followed",
                  next);
  }
  return Status::Ok();
}

}  // namespace stoker::folder

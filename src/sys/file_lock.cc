// SPDX-License-Identifier: Apache-2.0
#include "sys/file_lock.h"

#include <fcntl.h>

#include <cerrno>

namespace stoker::sys {

Status TryLock(const ScopedFd& fd, const std::string& path) {
  struct flock whole {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  while (::fcntl(fd.get(), F_OFD_SETLK, &whole) != 0) {
    if (errno == EAGAIN || errno == EACCES) return Status(Code::kBusy, path + " is taken");
    if (errno != EINTR) return ErrnoStatus("lock " + path, errno);
  }
  return Status::Ok();
}

Result<ScopedFd> TryFileLock(const std::string& path) {
  STOKER_ASSIGN(ScopedFd fd, Open(path, O_RDWR | O_CREAT, 0600));
  STOKER_TRY(TryLock(fd, path));
  return fd;
}

}  // namespace stoker::sys

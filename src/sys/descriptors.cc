// SPDX-License-Identifier: Apache-2.0
#include "sys/descriptors.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace stoker {
namespace {

// struct linux_dirent64 of getdents64(2), which no installed header declares.
struct KernelDirent {
  uint64_t inode;
  int64_t offset;
  uint16_t length;
  uint8_t type;
  char name[1];
};

// -1 when `name` is not a number.
int ParseFd(const char* name) {
  if (*name < '0' || *name > '9') return -1;
  int value = 0;
  for (; *name >= '0' && *name <= '9'; ++name) value = value * 10 + (*name - '0');
  return value;
}

}  // namespace

void CloseFrom(int first) {
#ifdef SYS_close_range
  if (syscall(SYS_close_range, first, ~0U, 0) == 0) return;
#endif
  const int dir = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (dir < 0) {
    for (int fd = first; fd < 65536; ++fd) close(fd);
    return;
  }
  alignas(KernelDirent) char buffer[4096];
  bool closed = true;
  while (closed) {  // closing while listing may skip some: list again until nothing is left
    closed = false;
    lseek(dir, 0, SEEK_SET);
    long n;
    while ((n = syscall(SYS_getdents64, dir, buffer, sizeof buffer)) > 0) {
      for (long at = 0; at < n;) {
        KernelDirent entry;
        std::memcpy(&entry, buffer + at, sizeof entry);
        const int fd = ParseFd(buffer + at + offsetof(KernelDirent, name));
        at += entry.length;
        if (fd < first || fd == dir) continue;
        close(fd);
        closed = true;
      }
    }
  }
  close(dir);
}

void ResetSignals() {
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  for (int signo = 1; signo < 65; ++signo) sigaction(signo, &action, nullptr);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

}  // namespace stoker

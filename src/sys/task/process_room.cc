// SPDX-License-Identifier: Apache-2.0
#include "sys/task/process_room.h"

#include <sys/resource.h>
#include <unistd.h>

#include <string>

#include "base/text.h"
#include "sys/file.h"

namespace stoker::sys {
namespace {

constexpr int64_t kPlenty = 4096;

// The number behind `name` in the text of /proc/PID/status; -1 = it is not there.
int64_t NumberBehind(const std::string& text, const std::string& name) {
  const size_t at = text.find("\n" + name + ":\t");
  if (at == std::string::npos) return -1;
  const size_t begin = at + name.size() + 3;
  const size_t end = text.find_first_not_of("0123456789", begin);
  return WholeNumber(text.substr(begin, end - begin), 0, INT64_MAX).value_or(-1);
}

}  // namespace

std::optional<ProcessRoom> TightProcessRoom() {
  rlimit limit{};
  if (getuid() == 0 || getrlimit(RLIMIT_NPROC, &limit) != 0) return std::nullopt;
  if (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= kPlenty) return std::nullopt;
  ProcessRoom room;
  room.limit = static_cast<int64_t>(limit.rlim_cur);
  const auto processes = ListDir("/proc");
  if (!processes.ok()) return room;
  for (const DirEntry& entry : *processes) {
    if (!IsDigit(entry.name.front())) continue;
    const auto text = ReadFile("/proc/" + entry.name + "/status", 16 << 10);
    if (!text.ok() || NumberBehind(*text, "Uid") != static_cast<int64_t>(getuid())) continue;
    room.used += std::max<int64_t>(1, NumberBehind(*text, "Threads"));
  }
  return room;
}

}  // namespace stoker::sys

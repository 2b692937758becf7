// SPDX-License-Identifier: Apache-2.0
#include "sys/task/cgroup.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>

#include "base/text.h"
#include "sys/file.h"

namespace stoker {
namespace {

constexpr char kPrefix[] = "stoker-";
constexpr int64_t kStaleSeconds = 60;

// mountinfo writes space, tab, newline and backslash as \ooo.
std::string Unescape(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size()) {
      out +=
          static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + text[i + 3] - '0');
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

std::vector<std::string> ChildFolders(const std::string& cgroup) {
  std::vector<std::string> out;
  auto entries = sys::ListDir(cgroup);
  if (!entries.ok()) return out;
  for (const sys::DirEntry& entry : *entries) {
    if (entry.is_dir) out.push_back(cgroup + "/" + entry.name);
  }
  return out;
}

void FreezeAndKill(const std::string& cgroup) {
  WriteCgroup(cgroup + "/cgroup.freeze", "1");
  // A frozen process does not fork, and does die of SIGKILL.
  for (const pid_t pid : CgroupProcesses(cgroup)) kill(pid, SIGKILL);
  WriteCgroup(cgroup + "/cgroup.freeze", "0");
}

bool RemoveCgroup(const std::string& cgroup) {
  for (const std::string& child : ChildFolders(cgroup)) RemoveCgroup(child);
  return rmdir(cgroup.c_str()) == 0 || errno == ENOENT;
}

void RemoveStale(const std::string& own) {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  for (const std::string& folder : ChildFolders(own)) {
    struct stat info {};
    if (!StartsWith(std::string_view(folder).substr(own.size() + 1), kPrefix)) continue;
    // A young one may belong to a runner that has not put its process in yet.
    if (stat(folder.c_str(), &info) != 0 || now.tv_sec - info.st_mtime < kStaleSeconds) continue;
    RemoveCgroup(folder);  // refused by the kernel while anything lives in it
  }
}

}  // namespace

bool WriteCgroup(const std::string& path, std::string_view value) {
  const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  ssize_t n;
  do {
    n = write(fd, value.data(), value.size());
  } while (n < 0 && errno == EINTR);
  const int error = errno;
  close(fd);
  errno = error;
  return n == static_cast<ssize_t>(value.size());
}

std::string Cgroup2Mount(std::string_view mountinfo) {
  if (mountinfo.find(" - cgroup2 ") == mountinfo.npos) return "";  // no mount is taken apart
  for (const std::string& line : Split(mountinfo, '\n')) {
    if (line.find(" - cgroup2 ") == line.npos) continue;
    // "22 27 0:21 / /proc rw,relatime shared:5 - proc proc rw": the type follows the lone dash.
    const std::vector<std::string> words = Split(line, ' ');
    for (size_t i = 6; i + 1 < words.size(); ++i) {
      if (words[i] != "-") continue;
      if (words[i + 1] == "cgroup2") return Unescape(words[4]);
      break;
    }
  }
  return "";
}

Result<std::string> OwnCgroup() {
  STOKER_ASSIGN(const std::string mountinfo, sys::ReadFile("/proc/self/mountinfo"));
  const std::string mount = Cgroup2Mount(mountinfo);
  if (mount.empty()) return Status(Code::kNotFound, "no cgroup version 2 tree is mounted");
  STOKER_ASSIGN(const std::string own, sys::ReadFile("/proc/self/cgroup"));
  for (const std::string& line : Split(own, '\n')) {
    if (!StartsWith(line, "0::/")) continue;
    const std::string path = line.substr(3);
    return path == "/" ? mount : mount + path;
  }
  return Status(Code::kNotFound, "this process is in no cgroup of version 2");
}

Result<std::string> MakeTaskCgroup() {
  STOKER_ASSIGN(const std::string own, OwnCgroup());
  return MakeCgroupIn(own);
}

Result<std::string> MakeCgroupIn(const std::string& parent) {
  RemoveStale(parent);
  char name[48];
  std::snprintf(name, sizeof name, "/%s%016llx", kPrefix,
                static_cast<unsigned long long>(sys::RandomU64()));
  const std::string cgroup = parent + name;
  if (mkdir(cgroup.c_str(), 0755) != 0) return ErrnoStatus("making cgroup " + cgroup, errno);
  if (access((cgroup + "/cgroup.procs").c_str(), W_OK) != 0) {
    const int error = errno;
    rmdir(cgroup.c_str());
    return ErrnoStatus("writing " + cgroup + "/cgroup.procs", error);
  }
  return cgroup;
}

std::vector<pid_t> CgroupProcesses(const std::string& cgroup) {
  std::vector<pid_t> out;
  if (auto content = sys::ReadFile(cgroup + "/cgroup.procs"); content.ok()) {
    for (const std::string& line : Split(*content, '\n')) {
      pid_t pid = 0;
      std::from_chars(line.data(), line.data() + line.size(), pid);
      if (pid > 0) out.push_back(pid);  // 0: a process outside our pid namespace
    }
  }
  for (const std::string& child : ChildFolders(cgroup)) {
    const std::vector<pid_t> more = CgroupProcesses(child);
    out.insert(out.end(), more.begin(), more.end());
  }
  return out;
}

void KillCgroup(const std::string& cgroup) {
  if (!WriteCgroup(cgroup + "/cgroup.kill", "1")) FreezeAndKill(cgroup);
}

bool CgroupPopulated(const std::string& cgroup) {
  return CgroupValue(cgroup, "cgroup.events", "populated").value_or(0) != 0;
}

bool EndCgroup(const std::string& cgroup, Duration limit) {
  for (int64_t waited_us = 0; waited_us <= limit.ms * 1000;) {
    KillCgroup(cgroup);
    if (!CgroupPopulated(cgroup) && RemoveCgroup(cgroup)) return true;
    const int64_t pause = std::min<int64_t>(20'000, 200 + waited_us / 4);
    usleep(static_cast<useconds_t>(pause));
    waited_us += pause;
  }
  return false;
}

std::optional<int64_t> FlatKeyed(std::string_view content, std::string_view key) {
  // /proc/vmstat has two hundred lines, and a program waits for this.
  for (size_t end = 0; !content.empty(); content.remove_prefix(end)) {
    end = std::min(content.find('\n'), content.size() - 1) + 1;
    const std::string_view line = content.substr(0, end);
    if (!StartsWith(line, key) || line.size() <= key.size() || line[key.size()] != ' ') continue;
    int64_t value = 0;
    const char* begin = line.data() + key.size() + 1;
    if (std::from_chars(begin, line.data() + line.size(), value).ec == std::errc()) return value;
  }
  return std::nullopt;
}

std::optional<int64_t> CgroupValue(const std::string& cgroup, const char* file, const char* key) {
  auto content = sys::ReadFile(cgroup + "/" + file, 1 << 20);
  if (!content.ok()) return std::nullopt;
  return FlatKeyed(*content, key);
}

}  // namespace stoker

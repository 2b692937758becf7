// SPDX-License-Identifier: Apache-2.0
#include "sys/task/process_table.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <unordered_map>
#include <unordered_set>

#include "base/text.h"
#include "sys/file.h"

namespace stoker {
namespace {

// The whole of a /proc file; "" when it cannot be read.
std::string ReadProc(const char* path, size_t limit = 1 << 20) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return "";
  std::string out;
  char buffer[4096];
  while (out.size() < limit) {
    const ssize_t n = read(fd, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    out.append(buffer, static_cast<size_t>(n));
  }
  close(fd);
  return out;
}

std::string ProcPath(pid_t pid, const char* name) {
  return "/proc/" + std::to_string(pid) + "/" + name;
}

template <typename T>
bool ParseNumber(std::string_view text, T& out) {
  return std::from_chars(text.data(), text.data() + text.size(), out).ec == std::errc();
}

void SleepMs(int64_t ms) {
  timespec t{ms / 1000, (ms % 1000) * 1'000'000};
  nanosleep(&t, nullptr);
}

bool EnvironmentHas(pid_t pid, const std::string& entry) {
  const std::string environment = ReadProc(ProcPath(pid, "environ").c_str(), 4 << 20);
  size_t at = 0;
  while ((at = environment.find(entry, at)) != std::string::npos) {
    const size_t end = at + entry.size();
    if ((at == 0 || environment[at - 1] == '\0') &&
        (end == environment.size() || environment[end] == '\0')) {
      return true;
    }
    ++at;
  }
  return false;
}

// SigCgt of /proc/<pid>/status, proc(5).
uint64_t Caught(pid_t pid) {
  const std::string status = ReadProc(ProcPath(pid, "status").c_str());
  const size_t at = status.find("\nSigCgt:");
  return at == std::string::npos ? 0 : std::strtoull(status.c_str() + at + 8, nullptr, 16);
}

bool Has(uint64_t signals, int signo) { return ((signals >> (signo - 1)) & 1) != 0; }

// bash with a trap for its exit handles all signals that end a process, also those that no script
// has a trap for, and ends by each.
bool IsOfExitTrap(uint64_t caught) { return Has(caught, SIGXCPU) && Has(caught, SIGVTALRM); }

std::string ExeName(const ProcessStat& stat) {
  char target[4096];
  const ssize_t n = readlink(ProcPath(stat.pid, "exe").c_str(), target, sizeof target);
  if (n <= 0) return stat.comm;
  std::string name(target, static_cast<size_t>(n));
  name = name.substr(name.rfind('/') + 1);
  constexpr std::string_view kDeleted = " (deleted)";
  if (EndsWith(name, kDeleted)) name.resize(name.size() - kDeleted.size());
  return name;
}

}  // namespace

std::optional<ProcessStat> ParseProcessStat(std::string_view content) {
  ProcessStat out;
  const size_t open_at = content.find('(');
  const size_t close_at = content.rfind(')');
  if (open_at == std::string_view::npos || close_at == std::string_view::npos ||
      close_at < open_at || !ParseNumber(content, out.pid)) {
    return std::nullopt;
  }
  out.comm = content.substr(open_at + 1, close_at - open_at - 1);
  std::string_view rest = content.substr(close_at + 1);
  std::vector<std::string_view> fields;  // fields[0] is field 3 of proc(5)
  while (!rest.empty() && fields.size() < 24) {
    const size_t start = rest.find_first_not_of(" \n");
    if (start == std::string_view::npos) break;
    rest.remove_prefix(start);
    const size_t end = std::min(rest.find_first_of(" \n"), rest.size());
    fields.push_back(rest.substr(0, end));
    rest.remove_prefix(end);
  }
  if (fields.size() < 22) return std::nullopt;
  int64_t user = 0, system = 0, child_user = 0, child_system = 0;
  out.state = fields[0].front();
  if (!ParseNumber(fields[1], out.parent) || !ParseNumber(fields[11], user) ||
      !ParseNumber(fields[12], system) || !ParseNumber(fields[13], child_user) ||
      !ParseNumber(fields[14], child_system) || !ParseNumber(fields[19], out.start_ticks) ||
      !ParseNumber(fields[21], out.resident_pages)) {
    return std::nullopt;
  }
  out.own_ticks = user + system;
  out.children_ticks = child_user + child_system;
  return out;
}

std::optional<ProcessStat> ReadProcessStat(pid_t pid) {
  return ParseProcessStat(ReadProc(ProcPath(pid, "stat").c_str()));
}

std::vector<ProcessStat> ListProcesses() {
  std::vector<ProcessStat> out;
  DIR* dir = opendir("/proc");
  if (dir == nullptr) return out;
  while (const dirent* entry = readdir(dir)) {
    pid_t pid = 0;
    if (entry->d_name[0] < '0' || entry->d_name[0] > '9') continue;
    if (!ParseNumber(entry->d_name, pid)) continue;
    if (auto stat = ReadProcessStat(pid)) out.push_back(std::move(*stat));
  }
  closedir(dir);
  return out;
}

std::vector<ProcessStat> DescendantsOf(pid_t root, const std::vector<ProcessStat>& all) {
  std::unordered_multimap<pid_t, const ProcessStat*> by_parent;
  for (const ProcessStat& p : all) by_parent.emplace(p.parent, &p);
  std::vector<ProcessStat> out;
  std::vector<pid_t> todo{root};
  std::unordered_set<pid_t> seen{root};
  while (!todo.empty()) {
    const pid_t parent = todo.back();
    todo.pop_back();
    const auto [begin, end] = by_parent.equal_range(parent);
    for (auto it = begin; it != end; ++it) {
      if (!seen.insert(it->second->pid).second) continue;
      todo.push_back(it->second->pid);
      if (!it->second->ended()) out.push_back(*it->second);
    }
  }
  return out;
}

std::vector<SeenProcess> LookAt(const std::vector<ProcessStat>& processes, int signo) {
  std::vector<SeenProcess> out;
  std::unordered_set<pid_t> compared;  // who catches, and the parents of these
  for (const ProcessStat& stat : processes) {
    SeenProcess seen{stat.pid, stat.parent, stat.start_ticks, ExeName(stat), "", false};
    const uint64_t caught = Caught(stat.pid);
    seen.catches = Has(caught, signo) && !(IsPassedOver(seen) && IsOfExitTrap(caught));
    if (seen.catches) compared.insert({seen.pid, seen.parent});
    out.push_back(std::move(seen));
  }
  // Of these alone: the arguments of a process that hangs in the kernel can take for ever to read.
  for (SeenProcess& seen : out) {
    if (compared.count(seen.pid) == 0) continue;
    seen.command_line = ReadProc(ProcPath(seen.pid, "cmdline").c_str());
  }
  return out;
}

std::string MarkComm(std::string_view value) {
  uint64_t hash = 0xcbf29ce484222325ULL;  // FNV-1a
  for (const char c : value) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  char text[32];
  std::snprintf(text, sizeof text, "sk-%012llx",
                static_cast<unsigned long long>(hash & 0xffffffffffffULL));
  return text;
}

std::vector<pid_t> MarkedProcesses(std::string_view name, std::string_view value) {
  const std::string entry = std::string(name) + "=" + std::string(value);
  const std::string comm = MarkComm(value);
  std::vector<pid_t> out;
  for (const ProcessStat& p : ListProcesses()) {
    if (p.ended() || p.pid == getpid()) continue;
    struct stat info {};
    // /proc/<pid> belongs to the effective user, or to root when the process is undumpable.
    if (stat(ProcPath(p.pid, "").c_str(), &info) != 0) continue;
    if (info.st_uid != geteuid() && geteuid() != 0) continue;
    if (p.comm == comm || EnvironmentHas(p.pid, entry)) out.push_back(p.pid);
  }
  return out;
}

bool EndMarkedProcesses(std::string_view name, std::string_view value, Duration patience,
                        Duration limit) {
  timespec start{};
  clock_gettime(CLOCK_MONOTONIC, &start);
  int64_t pause = 1;
  while (true) {
    const std::vector<pid_t> left = MarkedProcesses(name, value);
    if (left.empty()) return true;
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    const int64_t passed =
        (now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1'000'000;
    if (passed > limit.ms) return false;
    if (passed >= patience.ms) {
      for (const pid_t pid : left) kill(pid, SIGKILL);
    }
    SleepMs(pause);
    pause = std::min<int64_t>(pause * 2, 50);
  }
}

Status NoteProcesses(const std::string& folder, const std::vector<ProcessStat>& processes) {
  std::string text;
  for (const ProcessStat& one : processes) {
    text += std::to_string(one.pid) + " " + std::to_string(one.start_ticks) + " " + one.comm + "\n";
  }
  return sys::WriteFileAtomic(folder + "/" + kNotedProcesses, text, 0600, false);
}

void EndNotedProcesses(const std::string& folder) {
  const std::string path = folder + "/" + kNotedProcesses;
  const auto text = sys::ReadFile(path, 1 << 20);
  if (!text.ok()) return;
  for (const std::string& line : Split(*text, '\n')) {
    const auto pid = WholeNumber(line.substr(0, line.find(' ')), 2, 1 << 30);
    const auto now = pid ? ReadProcessStat(static_cast<pid_t>(*pid)) : std::nullopt;
    const bool same = now && line == std::to_string(*pid) + " " + std::to_string(now->start_ticks) +
                                         " " + now->comm;
    if (same) kill(static_cast<pid_t>(*pid), SIGKILL);
  }
  (void)sys::RemoveTree(path);
}

}  // namespace stoker

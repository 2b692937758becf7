// SPDX-License-Identifier: Apache-2.0
#include "test/torn/side_by_side.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <sstream>
#include <string>

namespace torn {
namespace {

constexpr unsigned kLimitSeconds = 600;

struct Running {
  int index = 0;
  int pipe = -1;
};

std::string OneLine(std::string text) {
  for (char& c : text) c = c == '\n' ? ' ' : c;
  return text;
}

std::string Encode(const TrialResult& result) {
  std::ostringstream out;
  out << "trial " << result.verdict.torn << " " << result.verdict.mixed << " "
      << result.verdict.step << " " << result.finished << " " << result.commits << "\n"
      << OneLine(result.verdict.why) << "\n"
      << OneLine(result.error) << "\n";
  return out.str();
}

TrialResult Decode(const std::string& text, int status) {
  TrialResult result;
  std::istringstream in(text);
  std::string word;
  in >> word >> result.verdict.torn >> result.verdict.mixed >> result.verdict.step >>
      result.finished >> result.commits;
  in.ignore();
  if (word == "trial" && in && status == 0 && std::getline(in, result.verdict.why) &&
      std::getline(in, result.error)) {
    return result;
  }
  result = TrialResult();
  result.error = "the trial's process ended with status " + std::to_string(status);
  return result;
}

std::string ReadAll(int fd) {
  std::string out;
  char buffer[4096];
  for (ssize_t got = 0; (got = read(fd, buffer, sizeof(buffer))) > 0;) {
    out.append(buffer, static_cast<size_t>(got));
  }
  close(fd);
  return out;
}

[[noreturn]] void RunHere(int index, int pipe, pid_t parent,
                          const std::function<TrialResult(int)>& trial) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  alarm(kLimitSeconds);
  const std::string text = Encode(trial(index));
  const bool told = write(pipe, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  std::fflush(stdout);
  _exit(told ? 0 : 1);
}

}  // namespace

void RunSideBySide(int count, int parallel, const std::function<TrialResult(int)>& trial,
                   const std::function<void(int, const TrialResult&)>& done) {
  std::map<pid_t, Running> running;
  const pid_t self = getpid();
  for (int next = 0; next < count || !running.empty();) {
    if (next < count && static_cast<int>(running.size()) < parallel) {
      int ends[2];
      if (pipe2(ends, O_CLOEXEC) != 0) std::abort();
      std::fflush(stdout);
      const pid_t pid = fork();
      if (pid == 0) RunHere(next, ends[1], self, trial);
      close(ends[1]);
      if (pid < 0) std::abort();
      running[pid] = {next++, ends[0]};
      continue;
    }
    int status = 0;
    const auto ended = running.find(waitpid(-1, &status, 0));
    if (ended == running.end()) continue;
    const Running one = ended->second;
    running.erase(ended);
    done(one.index, Decode(ReadAll(one.pipe), status));
  }
}

}  // namespace torn

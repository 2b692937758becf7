// SPDX-License-Identifier: Apache-2.0
// What capturing a program's output costs, against `program | tee file > /dev/null`, side by side:
// the same producer, started alternately under tee and under stoker's own runner, spool, shipper
// and local store. Prints the program's own wall time (what the user feels), the processor time of
// the capturing process, and the ratios.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "agent/log_pump.h"
#include "store/local/local_store.h"
#include "sys/real_clock.h"
#include "sys/spool_file.h"
#include "sys/task/process_runner.h"
#include "sys/task/task_init.h"

namespace stoker {
namespace {

using Steady = std::chrono::steady_clock;

[[noreturn]] void Die(const std::string& what) {
  fprintf(stderr, "log_flood: %s\n", what.c_str());
  _exit(1);
}

void Check(const Status& status) {
  if (!status.ok()) Die(status.ToString());
}

void WriteOut(const std::string& bytes) {
  for (size_t at = 0; at < bytes.size();) {
    const ssize_t n = write(STDOUT_FILENO, bytes.data() + at, bytes.size() - at);
    if (n < 0 && errno != EINTR) Die(std::string("write: ") + strerror(errno));
    if (n > 0) at += static_cast<size_t>(n);
  }
}

// The program: `lines` lines in writes of `batch` lines, `rate` lines a second (0 = as fast as the
// pipe takes them). Leaves its wall time in the file `report`.
int Produce(int64_t lines, int64_t rate, int64_t batch, const char* report) {
  const auto start = Steady::now();
  std::string out;
  for (int64_t line = 0; line < lines;) {
    out.clear();
    for (int64_t k = 0; k < batch && line < lines; ++k, ++line) {
      out += "step " + std::to_string(line) + " loss 0.693147 accuracy 0.9265 lr 0.001\n";
    }
    WriteOut(out);
    if (rate > 0) {
      const auto due = start + std::chrono::nanoseconds(line * 1'000'000'000 / rate);
      // Naps of a millisecond, as a program that does something else in between.
      if (due - Steady::now() > std::chrono::milliseconds(1)) std::this_thread::sleep_until(due);
    }
  }
  const double seconds = std::chrono::duration<double>(Steady::now() - start).count();
  std::ofstream(report) << seconds;
  return 0;
}

struct Cost {
  double wall = 0;  // of the program
  double cpu = 0;   // of who captures
};

double CpuSeconds(const rusage& usage) {
  auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double ReadReport(const std::string& path) {
  double seconds = 0;
  if (!(std::ifstream(path) >> seconds)) Die("the producer left no report");
  return seconds;
}

void Exec(const std::vector<std::string>& argv) {
  std::vector<char*> args;
  for (const std::string& word : argv) args.push_back(const_cast<char*>(word.c_str()));
  args.push_back(nullptr);
  execvp(args[0], args.data());
  Die("cannot start " + argv[0]);
}

Cost UnderTee(const std::vector<std::string>& program, const std::string& dir) {
  int ends[2];
  if (pipe(ends) != 0) Die("pipe");
  const pid_t producer = fork();
  if (producer == 0) {
    dup2(ends[1], STDOUT_FILENO);
    close(ends[0]);
    close(ends[1]);
    Exec(program);
  }
  const pid_t tee = fork();
  if (tee == 0) {
    dup2(ends[0], STDIN_FILENO);
    dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
    close(ends[0]);
    close(ends[1]);
    Exec({"tee", dir + "/tee.log"});
  }
  close(ends[0]);
  close(ends[1]);
  int status = 0;
  rusage usage{};
  waitpid(producer, &status, 0);
  if (wait4(tee, &status, 0, &usage) != tee || status != 0) Die("tee failed");
  return {ReadReport(dir + "/report"), CpuSeconds(usage)};
}

// The body of the capturing process: as an agent does it.
int Capture(const std::vector<std::string>& program, const std::string& dir) {
  RealClock clock;
  auto store = LocalStore::Open(dir + "/store");
  Check(store.status());
  auto folder = OpenSpoolFolder(dir + "/spool");
  Check(folder.status());
  auto pump = LogPump::Start(**store, clock, std::move(folder).value(), {"flood-job", 1, 0});
  Check(pump.status());
  auto runner = MakeProcessRunner();
  TaskCommand command;
  command.argv = program;
  command.env = {{"PATH", "/usr/bin:/bin"}};
  command.cwd = dir;
  auto task = runner->Start(command, (*pump)->sink());
  Check(task.status());
  while (!(*task)->Wait(1000)) {
  }
  Check((*task)->End());
  Check((*pump)->ShipAll(Duration::Minutes(2)));
  const LogCounters counters = (*pump)->spool().counters();
  if (counters.lost_lines > 0) Die("lines were lost");
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::ofstream(dir + "/lines") << counters.lines << " " << CpuSeconds(usage) << " "
                                << usage.ru_maxrss;
  return 0;
}

struct Captured {
  Cost cost;
  int64_t lines = 0;
  int64_t peak_kib = 0;
};

Captured UnderStoker(const std::string& self, const std::vector<std::string>& program,
                     const std::string& dir) {
  std::vector<std::string> argv = {self, "capture", dir};
  argv.insert(argv.end(), program.begin(), program.end());
  const pid_t child = fork();
  if (child == 0) Exec(argv);
  int status = 0;
  if (waitpid(child, &status, 0) != child || status != 0) Die("capture failed");
  Captured captured;
  std::ifstream(dir + "/lines") >> captured.lines >> captured.cost.cpu >> captured.peak_kib;
  captured.cost.wall = ReadReport(dir + "/report");
  return captured;
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void Compare(const std::string& self, const char* title, int64_t lines, int64_t rate, int64_t batch,
             int rounds) {
  std::vector<double> tee_wall, tee_cpu, wall, cpu;
  int64_t peak = 0;
  for (int round = 0; round < rounds; ++round) {
    std::string dir = std::filesystem::temp_directory_path() / "stoker-flood-XXXXXX";
    if (mkdtemp(dir.data()) == nullptr) Die("mkdtemp");
    const std::vector<std::string> program = {self,
                                              "produce",
                                              std::to_string(lines),
                                              std::to_string(rate),
                                              std::to_string(batch),
                                              dir + "/report"};
    const Cost tee = UnderTee(program, dir);
    const Captured captured = UnderStoker(self, program, dir);
    std::filesystem::remove_all(dir);
    if (captured.lines != lines) Die("captured " + std::to_string(captured.lines) + " lines");
    tee_wall.push_back(tee.wall);
    tee_cpu.push_back(tee.cpu);
    wall.push_back(captured.cost.wall);
    cpu.push_back(captured.cost.cpu);
    peak = std::max(peak, captured.peak_kib);
  }
  printf("%s (%lld lines, median of %d)\n", title, static_cast<long long>(lines), rounds);
  printf("  program, wall     tee %7.3f s   stoker %7.3f s   ratio %.3f\n", Median(tee_wall),
         Median(wall), Median(wall) / Median(tee_wall));
  printf("  capture, CPU      tee %7.3f s   stoker %7.3f s   ratio %.2f   %.2f us a line\n",
         Median(tee_cpu), Median(cpu), Median(cpu) / Median(tee_cpu),
         Median(cpu) / static_cast<double>(lines) * 1e6);
  printf("  memory, peak                      stoker %7.1f MiB\n",
         static_cast<double>(peak) / 1024.0);
  fflush(stdout);
}

int Main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  if (mode == "__init") return TaskInitMain(argc, argv);
  if (mode == "produce" && argc == 6) {
    return Produce(atoll(argv[2]), atoll(argv[3]), std::max<int64_t>(1, atoll(argv[4])), argv[5]);
  }
  if (mode == "capture" && argc > 3) return Capture({argv + 3, argv + argc}, argv[2]);
  if (!mode.empty()) Die("usage: log_flood");
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  Compare(self, "100,000 lines/s, a write each", 300'000, 100'000, 1, 5);
  Compare(self, "100,000 lines/s, 100 a write", 300'000, 100'000, 100, 5);
  Compare(self, "as fast as it goes, a write each", 1'000'000, 0, 1, 5);
  Compare(self, "as fast as it goes, 64 KiB writes", 5'000'000, 0, 1300, 5);
  return 0;
}

}  // namespace
}  // namespace stoker

int main(int argc, char** argv) { return stoker::Main(argc, argv); }

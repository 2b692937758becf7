// SPDX-License-Identifier: Apache-2.0
#include "sys/task/process_table.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sys/file.h"
#include "sys/task/cgroup.h"
#include "sys/task/gpu_usage.h"
#include "sys/task/oom_watch.h"
#include "sys/task/usage.h"

namespace stoker {
namespace {

constexpr char kTail[] =
    " S 1 10 10 0 -1 4194304 1 2 3 4 50 7 11 13 20 0 1 0 777 1000 42 184467 1 1 0 0 0 0 0";

TEST(ProcessTable, ParsesAnyName) {
  const auto stat = ParseProcessStat(std::string("99 (a) S 5 (b) x)") + kTail);
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->pid, 99);
  EXPECT_EQ(stat->comm, "a) S 5 (b) x");
  EXPECT_EQ(stat->parent, 1);
  EXPECT_EQ(stat->own_ticks, 57);
  EXPECT_EQ(stat->children_ticks, 24);
  EXPECT_EQ(stat->start_ticks, 777u);
  EXPECT_EQ(stat->resident_pages, 42);
}

TEST(ProcessTable, RefusesGarbage) {
  for (const char* text : {"", "x", "1 (a", "1 a) S", "1 (a) S 2", "(a) S 1 2 3", ")(", "1 )( S"}) {
    EXPECT_FALSE(ParseProcessStat(text)) << text;
  }
}

TEST(ProcessTable, DescendantsSurviveLoopsAndZombies) {
  const auto make = [](pid_t pid, pid_t parent, char state = 'S') {
    ProcessStat p;
    p.pid = pid;
    p.parent = parent;
    p.state = state;
    return p;
  };
  const std::vector<ProcessStat> all = {make(2, 1), make(3, 2, 'Z'), make(4, 3), make(5, 9),
                                        make(1, 4)};  // a torn snapshot may hold a loop
  std::vector<pid_t> pids;
  for (const ProcessStat& p : DescendantsOf(1, all)) pids.push_back(p.pid);
  EXPECT_EQ(pids, (std::vector<pid_t>{2, 4}));
}

TEST(ProcessTable, FindsAndEndsMarked) {
  const std::string value = "/mark/" + std::to_string(getpid());
  int pipe_fds[2];
  ASSERT_EQ(pipe(pipe_fds), 0);
  const pid_t child = fork();
  if (child == 0) {
    const std::string entry = std::string(kInstanceMark) + "=" + value;
    char* const env[] = {const_cast<char*>("A=1"), const_cast<char*>(entry.c_str()), nullptr};
    char* const argv[] = {const_cast<char*>("sleep"), const_cast<char*>("30"), nullptr};
    close(pipe_fds[1]);
    execve("/bin/sleep", argv, env);
    _exit(127);
  }
  for (int i = 0; i < 500 && MarkedProcesses(kInstanceMark, value).empty(); ++i) usleep(10'000);
  EXPECT_EQ(MarkedProcesses(kInstanceMark, value), std::vector<pid_t>{child});
  EXPECT_TRUE(MarkedProcesses(kInstanceMark, value + "x").empty());
  EXPECT_TRUE(MarkedProcesses(kTaskMark, value).empty());
  EXPECT_TRUE(EndMarkedProcesses(kInstanceMark, value, Duration::Ms(0), Duration::Seconds(5)));
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
  close(pipe_fds[0]);
  close(pipe_fds[1]);
}

TEST(Cgroup, FindsTheMount) {
  EXPECT_EQ(Cgroup2Mount("22 27 0:21 / /proc rw - proc proc rw\n"
                         "30 1 0:26 / /sys/fs/cgroup\\040x rw shared:4 - cgroup2 cgroup2 rw\n"),
            "/sys/fs/cgroup x");
  EXPECT_EQ(Cgroup2Mount("30 1 0:26 / /sys/fs/cgroup rw shared:4 - cgroup cgroup rw\n- -\n"), "");
  EXPECT_EQ(Cgroup2Mount(""), "");
}

TEST(Cgroup, FlatKeyed) {
  EXPECT_EQ(FlatKeyed("low 0\noom 3\noom_kill 17\n", "oom_kill"), 17);
  EXPECT_EQ(FlatKeyed("low 0\noom 3\noom_kill 17\n", "oom"), 3);
  EXPECT_FALSE(FlatKeyed("oom_kill\n", "oom_kill"));
}

TEST(OomWatch, CallsItProvenOnlyByThisTasksOwn) {
  using Seen = OomWatch::Evidence;
  using enum OomWatch::Verdict;
  const TaskExit killed{0, SIGKILL, false}, shell{137, 0, false}, failed{1, 0, false}, fine{};
  constexpr int64_t kGb = int64_t{1} << 30;
  const Seen other{{0, 0, 1}, {0, 0, 1}, false, kGb, 16 * kGb};       // it was small
  const Seen early{{0, 0, 1}, {0, 0, 0}, false, 15 * kGb, 16 * kGb};  // the kill was long before
  const Seen large{{0, 0, 1}, {0, 0, 1}, false, 15 * kGb, 16 * kGb};
  const Seen session{{0, 1, 1}, {0, 1, 1}, false, kGb, 16 * kGb};
  const Seen unit{{0, 1, 1}, {0, 0, 0}, true, kGb, 16 * kGb};
  const Seen own{{1, 0, 1}, {0, 0, 0}, false, kGb, 16 * kGb};
  const struct {
    const Seen& seen;
    const TaskExit& exit;
    bool by_us;
    OomWatch::Verdict verdict;
  } rows[] = {{Seen(), killed, false, kNo},      {other, killed, false, kPossible},
              {early, killed, false, kPossible}, {large, killed, false, kProven},
              {large, shell, false, kProven},    {large, killed, true, kNo},  // our own SIGKILL
              {large, failed, false, kNo},       {session, killed, false, kPossible},
              {session, failed, false, kNo},     {unit, failed, false, kProven},
              {unit, killed, true, kNo},         {own, killed, true, kProven},
              {own, failed, false, kProven},     {own, fine, false, kNo}};
  for (const auto& row : rows) {
    EXPECT_EQ(OomWatch::Judge(row.seen, row.exit, row.by_us), row.verdict) << &row - rows;
  }
  EXPECT_GT(MemoryCeiling(), int64_t{16} << 20);
}

TEST(Usage, NetworkIsOfDevicesOrOfAContainersInterfaces) {
  const char* dev =
      "Inter-|   Receive                     |  Transmit\n face |bytes packets|bytes packets\n"
      "    lo: 9000 1 0 0 0 0 0 0 9000 1 0 0 0 0 0 0\n"
      "  eth0:1296 10 0 0 0 0 0 0 840 9 0 0 0 0 0 0\n"
      "  eth1: 4 1 0 0 0 0 0 0 6 9 0 0 0 0 0 0\n"
      " bond0: 1300 11 0 0 0 0 0 0 846 9 0 0 0 0 0 0\n"
      "  odd: 7\n";
  const auto host = ParseNetworkBytes(dev, [](const std::string& name) { return name[0] == 'e'; });
  EXPECT_EQ(host.received, 1300);
  EXPECT_EQ(host.sent, 846);
  const auto box = ParseNetworkBytes("  lo: 1 1 0 0 0 0 0 0 1 1 0\n eth0: 5 1 0 0 0 0 0 0 7 1 0\n:",
                                     [](const std::string&) { return false; });
  EXPECT_EQ(box.received, 5);
  EXPECT_EQ(box.sent, 7);
  EXPECT_GE(ReadNetworkBytes().received, 0);
}

TEST(Usage, ParsesAndReads) {
  const MachineUsage u =
      ParseMachineUsage("cpu  100 0 100 900 50 0 0 0 0 0\ncpu0 1\n", "0.50 0.4 0.3 1/200 9",
                        "MemTotal:       2048 kB\nMemAvailable:   1024 kB\n");
  EXPECT_DOUBLE_EQ(u.busy_seconds, 2.0);
  EXPECT_DOUBLE_EQ(u.load, 0.5);
  EXPECT_EQ(u.memory_bytes, 2048 * 1024);
  EXPECT_EQ(u.memory_available_bytes, 1024 * 1024);
  EXPECT_EQ(ParseMachineUsage("garbage", "", "MemTotal").memory_bytes, 0);
  const MachineUsage here = ReadMachineUsage();
  EXPECT_GE(here.cpus, 1);
  EXPECT_GT(here.busy_seconds, 0);
  EXPECT_GT(here.memory_bytes, here.memory_available_bytes);
  EXPECT_GT(ReadDiskSpace("/")->total_bytes, 0);
  EXPECT_EQ(ReadDiskSpace("/no/such").code(), Code::kNotFound);
}

TEST(Gpu, ParsesWhatNvidiaSmiPrints) {
  EXPECT_EQ(GpuSampleJson("0, NVIDIA H100 80GB HBM3, 93, 1024, 81559, 61, 402.51\n"),
            R"([{"busy_percent":93,"index":0,"memory_total_mib":81559,"memory_used_mib":1024,)"
            R"("name":"NVIDIA H100 80GB HBM3","power_w":402.51,"temperature_c":61}])");
  EXPECT_NE(GpuSampleJson("1, T4, [N/A], 5, 6, 7, [Not Supported]\n").find("\"busy_percent\":null"),
            std::string::npos);
  EXPECT_EQ(GpuSampleJson("NVIDIA-SMI has failed because it couldn't communicate\n,,,,,,\n"), "");
  EXPECT_EQ(GpuSampler::Start(Duration::Seconds(1), "no-such-smi"), nullptr);
}

TEST(Gpu, FollowsTheLoopAndEndsIt) {
  char path[] = "/tmp/fake-smi-XXXXXX";
  const int fd = mkstemp(path);
  constexpr char kScript[] =
      "#!/bin/sh\nwhile :; do echo '0, A, 1, 2, 3, 4, 5'; echo \"1, $LD_LIBRARY_PATH, 9, 2, 3, 4, "
      "5\"; sleep 1; done\n";
  ASSERT_GT(write(fd, kScript, sizeof kScript - 1), 0);
  fchmod(fd, 0755);
  close(fd);
  setenv("LD_LIBRARY_PATH", "/the/driver", 1);
  auto sampler = GpuSampler::Start(Duration::Seconds(1), path);
  unsetenv("LD_LIBRARY_PATH");
  ASSERT_TRUE(sampler);
  std::string latest;
  for (int i = 0; i < 300 && latest.find("/driver") == std::string::npos; ++i) {
    usleep(10'000);
    latest = sampler->Latest();
  }
  EXPECT_NE(latest.find("\"name\":\"A\""), std::string::npos) << latest;
  EXPECT_NE(latest.find("\"name\":\"/the/driver\""), std::string::npos) << latest;
  sampler.reset();
  unlink(path);
}

TEST(NotedProcesses, EndWhereTheyAreTheSame) {
  const auto folder = sys::TempDir::Make("noted");
  ASSERT_TRUE(folder.ok());
  const auto sleeper = [] {
    const pid_t pid = fork();
    if (pid == 0) {
      pause();
      _exit(0);
    }
    return pid;
  };
  const pid_t mine = sleeper();
  const pid_t another = sleeper();
  std::vector<ProcessStat> noted = {*ReadProcessStat(mine), *ReadProcessStat(another)};
  noted[1].start_ticks += 1;  // its number was given again
  ASSERT_TRUE(NoteProcesses(folder->path(), noted).ok());
  EndNotedProcesses(folder->path());
  int status = 0;
  ASSERT_EQ(waitpid(mine, &status, 0), mine);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(waitpid(another, &status, WNOHANG), 0);
  EndNotedProcesses(folder->path());  // forgotten
  kill(another, SIGKILL);
  waitpid(another, &status, 0);
}

}  // namespace
}  // namespace stoker

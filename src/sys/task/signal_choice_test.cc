// SPDX-License-Identifier: Apache-2.0
#include "sys/task/signal_choice.h"

#include <gtest/gtest.h>

#include <utility>

namespace stoker {
namespace {

using Pids = std::vector<pid_t>;

// `line`: its arguments, of which the first names the file.
SeenProcess Process(pid_t pid, pid_t parent, const std::string& line, bool catches = false) {
  SeenProcess process{pid, parent, static_cast<uint64_t>(pid), "", line, catches};
  process.exe = line.substr(0, line.find(' '));
  process.exe = process.exe.substr(process.exe.rfind('/') + 1);
  return process;
}

SeenProcess Catcher(pid_t pid, pid_t parent, const std::string& line) {
  return Process(pid, parent, line, true);
}

Pids Choose(const std::vector<SeenProcess>& program) { return ChooseReceivers(program, {}); }

TEST(ChooseReceivers, TakesTheTopmostCatcherOfEachBranch) {
  EXPECT_EQ(Choose({Catcher(10, 1, "python3 train.py")}), Pids{10});
  // torchrun hands it on itself.
  EXPECT_EQ(Choose({Catcher(10, 1, "python3 torchrun train.py"),
                    Catcher(11, 10, "python3 train.py"), Catcher(12, 10, "python3 train.py")}),
            Pids{10});
  EXPECT_EQ(Choose({Process(10, 1, "python3 launch.py"), Catcher(11, 10, "python3 train.py 0"),
                    Catcher(12, 10, "python3 train.py 1")}),
            (Pids{11, 12}));
}

TEST(ChooseReceivers, PassesShellsOverWhateverTheyCatch) {
  for (const char* shell : {"bash train.sh", "/bin/sh -c x", "dash x", "zsh-5.9 x", "fish x",
                            "busybox sh x", "timeout 100 python3 train.py"}) {
    EXPECT_EQ(Choose({Catcher(10, 1, shell), Catcher(11, 10, "python3 train.py")}), Pids{11})
        << shell;
  }
  EXPECT_EQ(Choose({Process(10, 1, "bash -c x"), Catcher(11, 10, "python3 train.py"),
                    Process(12, 10, "tee log")}),
            Pids{11});
  EXPECT_EQ(Choose({Catcher(10, 1, "shampoo")}), Pids{10}) << "no shell";
}

TEST(ChooseReceivers, PassesOverLaunchersThatWouldCutASaveShort) {
  // They kill a second later, or tell one after the other.
  for (const char* launcher : {"prterun -n 2 python3 t.py", "mpiexec.hydra -n 2 python3 t.py",
                               "/opt/bin/deepspeed t.py"}) {
    EXPECT_EQ(Choose({Catcher(10, 1, launcher), Catcher(11, 10, "python3 t.py"),
                      Catcher(12, 10, "python3 t.py")}),
              (Pids{11, 12}))
        << launcher;
  }
  // It signals the whole group of each worker, and with it those of a loader.
  const std::string nul(1, '\0');
  for (const std::string& words :
       {"/x/torchrun" + nul + "t.py", "-u" + nul + "-m" + nul + "torch.distributed.run",
        "/x/accelerate" + nul + "launch"}) {
    SeenProcess launcher = Catcher(10, 1, "python3");
    launcher.command_line = "python3" + nul + words + nul;
    std::vector<SeenProcess> program = {launcher, Catcher(11, 10, "python3 -u t.py"),
                                        Catcher(12, 10, "python3 -u t.py")};
    EXPECT_EQ(Choose(program), Pids{10}) << "it hands it on, and waits";
    program.push_back(Catcher(13, 11, "python3 -u t.py"));
    EXPECT_EQ(Choose(program), (Pids{11, 12}));
  }
}

TEST(ChooseReceivers, DoesNotCountForkedCopies) {
  EXPECT_EQ(Choose({Catcher(10, 1, "python3 train.py"), Catcher(11, 10, "python3 train.py")}),
            Pids{10});
  // torch's loader workers show a handler that their trainer has not.
  EXPECT_EQ(Choose({Process(10, 1, "python3 train.py"), Catcher(11, 10, "python3 train.py"),
                    Catcher(12, 10, "python3 train.py")}),
            Pids{});
  // But what a copy starts may save.
  EXPECT_EQ(Choose({Process(10, 1, "python3 sweep.py"), Catcher(11, 10, "python3 sweep.py"),
                    Catcher(12, 11, "python3 train.py")}),
            Pids{12});
  SeenProcess other = Catcher(11, 10, "python3 train.py");
  other.exe = "python3.11";
  EXPECT_EQ(Choose({Process(10, 1, "python3 train.py"), other}), Pids{11});
}

TEST(ChooseReceivers, CountsOrphansAsTheProgramsOwn) {
  EXPECT_EQ(Choose({Process(10, 1, "python3 a.py"), Catcher(20, 1, "python3 b.py")}), Pids{20});
}

TEST(ChooseReceivers, LeavesAloneWhatLiesBelowWhoWasTold) {
  const std::vector<SeenProcess> program = {Catcher(10, 1, "python3 torchrun"),
                                            Catcher(11, 10, "python3 train.py"),
                                            Catcher(20, 1, "python3 other.py")};
  EXPECT_EQ(ChooseReceivers(program, {10}), Pids{20});
}

TEST(ChooseReceivers, EndsWhereParentsFormARing) {
  EXPECT_EQ(Choose({Catcher(10, 11, "a"), Catcher(11, 10, "b")}), Pids{});
}

TEST(AnyTrainerCatches, LooksBehindLaunchers) {
  const std::string nul(1, '\0');
  SeenProcess torchrun = Catcher(10, 1, "python3");
  torchrun.command_line = "/usr/bin/python3" + nul + "/usr/local/bin/torchrun" + nul + "t.py" + nul;
  SeenProcess module = torchrun;
  module.command_line = "python3" + nul + "-u" + nul + "-m" + nul + "torch.distributed.run" + nul;
  SeenProcess uv = Catcher(10, 1, "uv run t.py");
  SeenProcess ranks = torchrun;
  ranks.command_line =
      "python3" + nul + "-u" + nul + "-m" + nul + "deepspeed.launcher.launch" + nul;
  for (const SeenProcess& launcher : {torchrun, module, ranks, uv}) {
    EXPECT_TRUE(IsLauncher(launcher)) << launcher.command_line;
    EXPECT_FALSE(AnyTrainerCatches({launcher, Process(11, 10, "python3 t.py")}));
    EXPECT_TRUE(AnyTrainerCatches({launcher, Catcher(11, 10, "python3 t.py")}));
  }
  SeenProcess trainer = torchrun;
  trainer.command_line = "python3" + nul + "t.py" + nul + "--launcher" + nul + "torchrun" + nul;
  EXPECT_FALSE(IsLauncher(trainer)) << "its arguments are its own";
  EXPECT_TRUE(AnyTrainerCatches({trainer}));
  EXPECT_FALSE(AnyTrainerCatches(
      {Catcher(9, 1, "bash x"), Process(10, 9, "python3 t.py"), Catcher(11, 10, "python3 t.py")}));
}

TEST(StopRound, TellsNobodyTwiceAndLeavesLoaderWorkersToTheirTrainer) {
  StopRound round;
  const std::vector<SeenProcess> program = {Process(9, 1, "bash train.sh"),
                                            Catcher(10, 9, "python3 train.py"),
                                            Catcher(11, 10, "python3 train.py")};
  EXPECT_EQ(round.Step(program, MonoTime{0}), Pids{10});
  EXPECT_EQ(round.Step(program, MonoTime{5000}), Pids{});
  EXPECT_FALSE(round.nobody_catches());
}

// A trainer's loader ends before it saves: torchrun would now signal its group, and so the save.
TEST(StopRound, LeavesALauncherThatWasPassedOverWhileWhoWasToldSaves) {
  StopRound round;
  const SeenProcess torchrun = Catcher(10, 1, "/x/torchrun t.py");
  const SeenProcess trainer = Catcher(11, 10, "python3 t.py");
  EXPECT_EQ(round.Step({torchrun, trainer, Catcher(13, 11, "python3 t.py")}, MonoTime{0}),
            Pids{11});
  EXPECT_EQ(round.Step({torchrun, trainer}, MonoTime{50}), Pids{});
  EXPECT_EQ(round.Step({torchrun, trainer, Catcher(12, 10, "python3 t.py")}, MonoTime{100}),
            Pids{12});
  EXPECT_EQ(round.Step({torchrun}, MonoTime{5000}), Pids{10});
}

TEST(StopRound, AppliesTheRuleAgainToWhatWasBelow) {
  StopRound round;
  EXPECT_EQ(
      round.Step({Catcher(10, 1, "make train"), Catcher(11, 10, "python3 train.py")}, MonoTime{0}),
      Pids{10});
  EXPECT_EQ(round.Step({Catcher(11, 1, "python3 train.py")}, MonoTime{100}), Pids{11});
}

TEST(StopRound, TellsEverybodyWhereNobodyCatches) {
  StopRound round;
  const std::vector<SeenProcess> program = {Process(10, 1, "bash x"), Process(11, 10, "python3 y")};
  EXPECT_EQ(round.Step(program, MonoTime{0}), (Pids{10, 11}));
  EXPECT_TRUE(round.nobody_catches());
  // Also what is forked meanwhile.
  EXPECT_EQ(round.Step({Process(12, 1, "python3 y")}, MonoTime{100}), Pids{12});
}

TEST(StopRound, TellsTheRestASecondAfterTheLastHasEnded) {
  StopRound round;
  const SeenProcess shell = Process(9, 1, "bash train.sh");
  EXPECT_EQ(round.Step({shell, Catcher(10, 9, "python3 train.py")}, MonoTime{0}), Pids{10});
  const SeenProcess next_line = Process(12, 9, "sleep 100");
  EXPECT_EQ(round.Step({shell, next_line}, MonoTime{3000}), Pids{});
  EXPECT_EQ(round.Step({shell, next_line}, MonoTime{3900}), Pids{});
  EXPECT_EQ(round.Step({shell, next_line}, MonoTime{4000}), (Pids{9, 12}));
}

TEST(StopRound, KnowsAProcessThatGotThePidOfOneThatEnded) {
  StopRound round;
  SeenProcess process = Catcher(10, 1, "python3 train.py");
  EXPECT_EQ(round.Step({process}, MonoTime{0}), Pids{10});
  process.start_ticks = 99;
  EXPECT_EQ(round.Step({process}, MonoTime{100}), Pids{10});
}

}  // namespace
}  // namespace stoker

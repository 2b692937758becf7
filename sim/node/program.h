// SPDX-License-Identifier: Apache-2.0
// The user's program on one node: steps, lines, checkpoints, and all the ways it can end. Runs as a
// process of its own beside the agent, as in the world.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "port/log_sink.h"
#include "port/process_runner.h"
#include "sim/disk/disk.h"
#include "sim/world/observer.h"
#include "sim/world/world.h"

namespace stoker::sim {

// The step that the files of a checkpoint directory hold, 0 = none, -1 = torn or mixed (and why).
struct FilesHold {
  int step = 0;
  bool poisoned = false;
  std::string why;
};
FilesHold StepInFiles(const std::map<std::string, std::string>& files, WriteStyle style);

struct ProgramPlace {
  std::string machine;
  std::string job;
  int attempt = 0;
  int rank = 0;
  int launch = 0;
  int nodes = 1;
};

class Program {
 public:
  // `sink` and `say` may be null. `ended` is called at most once, when it ends by itself or by a
  // signal.
  Program(World& world, Disk& disk, ProgramPlace place, LogSink* sink,
          std::function<void(int step, double loss)> say, std::function<void(TaskExit)> ended);
  // Kills it without calling `ended`.
  ~Program();

  void Start();
  // A process of it that trains handles SIGTERM.
  bool CatchesTerm() const;
  // SIGTERM, SIGKILL. Harmless when it has ended.
  void Terminate(const ToldToEnd& told);
  void Kill();
  // SIGSTOP; goes on after so long.
  void Pause(int64_t ms) { process_->PauseUntil(world_.now() + ms); }
  bool running() const { return running_; }
  ProgramView View() const;
  int64_t signs_of_life() const { return signs_; }

 private:
  void Main();
  void Work(int first);
  bool Step(int step);
  void Save(int step);
  void WriteFile(const std::string& path, const std::string& text, bool in_place);
  void Rest(int64_t ms);
  void AwaitPeers(int step);
  FilesHold Resume() const;
  void End(TaskExit exit);
  void Leave(int code);
  void Leave(const TaskExit& exit);
  std::string Contents(int step, const std::string& name);

  World& world_;
  Disk& disk_;
  const ProgramPlace place_;
  const ProgramPlan& plan_;
  LogSink* const sink_;
  const std::function<void(int, double)> say_;
  const std::function<void(TaskExit)> ended_;
  std::unique_ptr<Process> process_;
  Gang& gang_;
  bool running_ = false;
  std::optional<ToldToEnd> told_;  // got SIGTERM and handles it
  int step_ = 0;
  int64_t signs_ = 0;
  std::shared_ptr<int> life_ = std::make_shared<int>(0);
};

}  // namespace stoker::sim

// SPDX-License-Identifier: Apache-2.0
// Learns beside a program what it runs with, and keeps that in the store (job/run_facts.h).
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "base/time.h"
#include "contract/environment.h"
#include "job/run_facts.h"
#include "port/object_store.h"
#include "port/process_runner.h"

namespace stoker::node {

struct RanInput {
  std::string job;
  RunFacts facts;             // what is known already; with an `image` no Python is asked
  contract::Environment env;  // the program's
  std::string cwd;
  std::string words;          // that it was started with
  bool names_python = false;  // these do, or it has a Python environment
  std::shared_ptr<Task> task;
  std::function<void(const std::string&)> say;
};

// The program is never held up: nothing is asked before it has run for a second, or has ended.
class RanTeller {
 public:
  // The store must outlive it.
  RanTeller(ObjectStore& store, RanInput input);
  ~RanTeller();  // waits for what was just asked

  // The program has ended: who was waiting for it to be seen waits no longer.
  void ProgramEnded();
  // Returns when all is kept or given up, which is said, but after `within` at the latest.
  void Finish(Duration within);

 private:
  void Run();
  bool WaitForEnd(Duration within);
  void LearnPython();
  Status Keep();

  ObjectStore& store_;
  RanInput input_;
  std::vector<Package> packages_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ended_ = false;    // guarded by mutex_
  bool dropped_ = false;  // the same: no more is to be begun
  bool done_ = false;     // the same
  std::thread thread_;
};

}  // namespace stoker::node

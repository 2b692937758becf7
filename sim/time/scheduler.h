// SPDX-License-Identifier: Apache-2.0
// Time and who runs next. One thread; events in the order of their time, then of their making: the
// same seed gives the same order everywhere.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sim/time/fiber.h"

namespace stoker::sim {

class Process;

// The world's true time, in milliseconds, that nobody in the world can read; machines have clocks
// of their own (sim/time/clock.h).
class Scheduler {
 public:
  Scheduler() = default;
  // Every Process must be dead.
  ~Scheduler();

  int64_t now() const { return now_; }
  int64_t events() const { return events_; }
  // `event` runs outside of every fiber; it must not block.
  void At(int64_t when, std::function<void()> event);
  void In(int64_t ms, std::function<void()> event) { At(now_ + ms, std::move(event)); }
  // The next event; false when there is none.
  bool RunOne();
  // Time of the next event; -1 = none.
  int64_t next() const { return queue_.empty() ? -1 : queue_.front().at; }

  // From a fiber: lets `ms` pass. Throws Killed when its process dies meanwhile.
  void Sleep(int64_t ms);
  // The process of the fiber that runs now; null outside of fibers.
  Process* current() const { return current_; }

 private:
  friend class Process;
  friend class Signal;
  struct Strand;
  // Where alarms look for the strand that they are to wake. Used again by other strands, but not
  // destroyed: an alarm may come long after its strand has ended.
  struct Bed {
    Strand* strand = nullptr;
    uint64_t sleep = 0;  // of this suspension alone: an alarm of a former one does nothing
  };
  struct Item {
    int64_t at = 0;
    uint64_t order = 0;
    Bed* bed = nullptr;  // null: it is `bodies_[event]`
    uint64_t sleep = 0;
    size_t event = 0;
    bool woken = false;
  };
  void Push(const Item& item);
  Bed* TakeBed(Strand* strand);
  void GiveBed(Bed* bed);
  // Suspends the running fiber until Wake or `at`; true = woken.
  bool Suspend(int64_t at);
  void Resume(Strand* strand, bool woken);
  // Resumes the strand at `at`, unless it left the sleep of that number before.
  void Post(Strand* strand, uint64_t sleep, int64_t at, bool woken);
  void Ring(const Item& alarm);

  int64_t now_ = 0;
  int64_t events_ = 0;
  uint64_t order_ = 0;
  uint64_t sleeps_ = 0;
  std::vector<Item> queue_;  // a heap: the next one is in front
  std::vector<std::function<void()>> bodies_;
  std::vector<size_t> free_bodies_;
  std::vector<std::unique_ptr<Bed>> beds_;
  std::vector<Bed*> free_beds_;
  Process* current_ = nullptr;
  Strand* running_ = nullptr;
};

// Fibers that live and die together, like the threads of a process.
class Process {
 public:
  Process(Scheduler& scheduler, std::string name);
  // Kill().
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  const std::string& name() const { return name_; }
  // Begins at this very time, after what is already due.
  void Spawn(std::function<void()> body);
  // kill -9: all its fibers unwind where they stand, at once; nothing they do while unwinding has
  // an effect (Sleep returns, calls of the world fail). From one of its own fibers: throws Killed.
  void Kill();
  bool dead() const { return dead_; }
  // SIGSTOP: no fiber of it goes on before `until` (true time). A paused process can be killed.
  void PauseUntil(int64_t until) { paused_until_ = until; }
  // No fiber of it is left to run.
  bool idle() const;

 private:
  friend class Scheduler;
  void Reap();

  Scheduler& scheduler_;
  const std::string name_;
  std::vector<std::unique_ptr<Scheduler::Strand>> strands_;
  bool dead_ = false;
  int64_t paused_until_ = 0;
};

// A condition that fibers wait for. All that wait when Notify is called go on.
class Signal {
 public:
  explicit Signal(Scheduler& scheduler) : scheduler_(scheduler) {}
  // From a fiber. True = notified, also when Notify came since the last Wait; false = `ms` passed.
  bool Wait(int64_t ms);
  void Notify();

 private:
  Scheduler& scheduler_;
  bool rung_ = false;
  std::vector<std::pair<Scheduler::Strand*, uint64_t>> waiting_;
};

}  // namespace stoker::sim

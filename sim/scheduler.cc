// SPDX-License-Identifier: Apache-2.0
#include "sim/scheduler.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace stoker::sim {

struct Scheduler::Strand {
  Strand(StackPool& stacks, Process& owner, std::function<void()> body)
      : process(owner), fiber(stacks, std::move(body)) {}
  Process& process;
  Fiber fiber;
  uint64_t sleep = 0;  // of this suspension alone: an alarm of a former one does nothing
  bool woken = false;
  bool unwinding = false;
};

Scheduler::~Scheduler() = default;

void Scheduler::At(int64_t when, std::function<void()> event) {
  queue_.emplace(std::pair(std::max(when, now_), order_++), std::move(event));
}

bool Scheduler::RunOne() {
  if (queue_.empty()) return false;
  auto first = queue_.extract(queue_.begin());
  now_ = first.key().first;
  ++events_;
  first.mapped()();
  return true;
}

void Scheduler::Resume(Strand* strand, bool woken) {
  Process* const outer = current_;
  Strand* const outer_strand = running_;
  current_ = &strand->process;
  running_ = strand;
  strand->woken = woken;
  strand->sleep = ++sleeps_;
  strand->fiber.Resume();
  current_ = outer;
  running_ = outer_strand;
}

void Scheduler::Post(Strand* strand, uint64_t sleep, int64_t at, bool woken) {
  Process& process = strand->process;
  At(at, [this, &process, strand, sleep, woken, life = std::weak_ptr(process.life_)] {
    if (life.expired() || process.dead_) return;
    const auto& strands = process.strands_;
    const bool there = std::any_of(strands.begin(), strands.end(),
                                   [&](const auto& one) { return one.get() == strand; });
    if (!there || strand->sleep != sleep || strand->fiber.ended()) return;
    if (process.paused_until_ > now_) return Post(strand, sleep, process.paused_until_, woken);
    Resume(strand, woken);
    process.Reap();
  });
}

bool Scheduler::Suspend(int64_t at) {
  Strand* const strand = running_;
  if (strand == nullptr) {
    std::fputs("sim: only a fiber can wait\n", stderr);
    std::abort();
  }
  if (strand->unwinding) return false;
  if (!strand->process.dead_) {
    Post(strand, strand->sleep, at, false);
    strand->fiber.Yield();
  }
  if (strand->process.dead_) {
    strand->unwinding = true;
    throw Killed{};
  }
  return strand->woken;
}

void Scheduler::Sleep(int64_t ms) { Suspend(now_ + std::max<int64_t>(ms, 0)); }

Process::Process(Scheduler& scheduler, std::string name)
    : scheduler_(scheduler), name_(std::move(name)) {}

Process::~Process() {
  if (!dead_) Kill();
  for (const auto& strand : strands_) {
    if (strand->fiber.begun() && !strand->fiber.ended()) {
      std::fprintf(stderr, "sim: process %s is destroyed by one of its own\n", name_.c_str());
      std::abort();
    }
  }
}

void Process::Spawn(std::function<void()> body) {
  if (dead_) return;
  auto strand = std::make_unique<Scheduler::Strand>(scheduler_.stacks_, *this, std::move(body));
  strand->sleep = ++scheduler_.sleeps_;
  Scheduler::Strand* const raw = strand.get();
  strands_.push_back(std::move(strand));
  scheduler_.Post(raw, raw->sleep, scheduler_.now(), false);
}

void Process::Kill() {
  if (dead_) return;
  dead_ = true;
  Scheduler::Strand* self = nullptr;
  // By index: what unwinds may add to the list's end only through Spawn, which is closed now.
  for (size_t i = 0; i < strands_.size(); ++i) {
    Scheduler::Strand* const strand = strands_[i].get();
    if (strand == scheduler_.running_) {
      self = strand;
    } else if (strand->fiber.begun() && !strand->fiber.ended()) {
      scheduler_.Resume(strand, false);
    }
  }
  if (self == nullptr) return;
  self->unwinding = true;
  throw Killed{};
}

void Process::Reap() {
  std::erase_if(strands_, [&](const auto& strand) {
    return strand->fiber.ended() && strand.get() != scheduler_.running_;
  });
}

bool Process::idle() const {
  return std::all_of(strands_.begin(), strands_.end(),
                     [](const auto& strand) { return strand->fiber.ended(); });
}

bool Signal::Wait(int64_t ms) {
  if (rung_) {
    rung_ = false;
    return true;
  }
  Scheduler::Strand* const strand = scheduler_.running_;
  // Also when the process is killed meanwhile.
  struct Leave {
    Signal& signal;
    Scheduler::Strand* strand;
    ~Leave() {
      std::erase_if(signal.waiting_, [&](const auto& one) { return one.first == strand; });
    }
  } const leave{*this, strand};
  if (strand != nullptr) waiting_.emplace_back(strand, strand->sleep);
  return scheduler_.Suspend(scheduler_.now() + std::max<int64_t>(ms, 0));
}

void Signal::Notify() {
  if (waiting_.empty()) {
    rung_ = true;
    return;
  }
  std::vector<std::pair<Scheduler::Strand*, uint64_t>> waiting;
  waiting.swap(waiting_);
  for (const auto& [strand, sleep] : waiting) {
    scheduler_.Post(strand, sleep, scheduler_.now(), true);
  }
}

}  // namespace stoker::sim

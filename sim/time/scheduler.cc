// SPDX-License-Identifier: Apache-2.0
#include "sim/time/scheduler.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace stoker::sim {
namespace {

// Of two in the queue, the one that is further from its front.
constexpr auto Later = [](const auto& a, const auto& b) {
  return a.at != b.at ? a.at > b.at : a.order > b.order;
};

}  // namespace

struct Scheduler::Strand {
  Strand(Scheduler& s, Process& owner, std::function<void()> body)
      : scheduler(s), process(owner), fiber(std::move(body)), bed(s.TakeBed(this)) {}
  ~Strand() { scheduler.GiveBed(bed); }
  Scheduler& scheduler;
  Process& process;
  Fiber fiber;
  Bed* const bed;
  bool woken = false;
  bool unwinding = false;
};

Scheduler::~Scheduler() = default;

void Scheduler::Push(const Item& item) {
  queue_.push_back(item);
  std::push_heap(queue_.begin(), queue_.end(), Later);
}

void Scheduler::At(int64_t when, std::function<void()> event) {
  Item item;
  item.at = std::max(when, now_);
  item.order = order_++;
  if (free_bodies_.empty()) {
    item.event = bodies_.size();
    bodies_.push_back(std::move(event));
  } else {
    item.event = free_bodies_.back();
    free_bodies_.pop_back();
    bodies_[item.event] = std::move(event);
  }
  Push(item);
}

bool Scheduler::RunOne() {
  if (queue_.empty()) return false;
  const Item item = queue_.front();
  std::pop_heap(queue_.begin(), queue_.end(), Later);
  queue_.pop_back();
  now_ = item.at;
  ++events_;
  if (item.bed != nullptr) {
    Ring(item);
    return true;
  }
  const auto body = std::exchange(bodies_[item.event], nullptr);
  free_bodies_.push_back(item.event);
  body();
  return true;
}

Scheduler::Bed* Scheduler::TakeBed(Strand* strand) {
  if (free_beds_.empty()) {
    beds_.push_back(std::make_unique<Bed>());
    free_beds_.push_back(beds_.back().get());
  }
  Bed* const bed = free_beds_.back();
  free_beds_.pop_back();
  *bed = {strand, ++sleeps_};
  return bed;
}

void Scheduler::GiveBed(Bed* bed) {
  *bed = {};
  free_beds_.push_back(bed);
}

void Scheduler::Resume(Strand* strand, bool woken) {
  Process* const outer = current_;
  Strand* const outer_strand = running_;
  current_ = &strand->process;
  running_ = strand;
  strand->woken = woken;
  strand->bed->sleep = ++sleeps_;
  strand->fiber.Resume();
  current_ = outer;
  running_ = outer_strand;
}

void Scheduler::Post(Strand* strand, uint64_t sleep, int64_t at, bool woken) {
  Push({std::max(at, now_), order_++, strand->bed, sleep, 0, woken});
}

void Scheduler::Ring(const Item& alarm) {
  if (alarm.bed->sleep != alarm.sleep) return;
  Strand* const strand = alarm.bed->strand;
  Process& process = strand->process;
  if (process.dead_ || strand->fiber.ended()) return;
  if (process.paused_until_ > now_) {
    return Post(strand, alarm.sleep, process.paused_until_, alarm.woken);
  }
  Resume(strand, alarm.woken);
  process.Reap();
}

bool Scheduler::Suspend(int64_t at) {
  Strand* const strand = running_;
  if (strand == nullptr) {
    std::fputs("sim: only a fiber can wait\n", stderr);
    std::abort();
  }
  if (strand->unwinding) return false;
  if (!strand->process.dead_) {
    Post(strand, strand->bed->sleep, at, false);
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
  auto strand = std::make_unique<Scheduler::Strand>(scheduler_, *this, std::move(body));
  Scheduler::Strand* const raw = strand.get();
  strands_.push_back(std::move(strand));
  scheduler_.Post(raw, raw->bed->sleep, scheduler_.now(), false);
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
  if (strand != nullptr) waiting_.emplace_back(strand, strand->bed->sleep);
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

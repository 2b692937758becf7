// SPDX-License-Identifier: Apache-2.0
#include "agent/log_pump.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace stoker {
namespace {

// A wait never exceeds this, so that a clock that jumps cannot put the thread to sleep for good.
constexpr Duration kLongestWait = Duration::Seconds(60);

std::chrono::milliseconds Chrono(Duration d) {
  return std::chrono::milliseconds(std::clamp<int64_t>(d.ms, 0, kLongestWait.ms));
}

}  // namespace

Result<std::unique_ptr<LogPump>> LogPump::Start(ObjectStore& store, Clock& clock,
                                                std::unique_ptr<SpoolFolder> folder,
                                                const LogPlace& place, LogSpoolOptions options) {
  std::unique_ptr<LogPump> pump(new LogPump(store, clock));
  LogPump* self = pump.get();
  STOKER_ASSIGN(pump->spool_, LogSpool::Open(
                                  std::move(folder), clock, [self] { self->Wake(); }, options));
  if (pump->spool_->counters().records == 0) {
    STOKER_ASSIGN(const int64_t end, StoredLogEnd(store, place.job, place.attempt, place.rank));
    pump->spool_->SkipTo(end);
  }
  pump->shipper_ = std::make_unique<LogShipper>(store, clock, *pump->spool_, place);
  pump->thread_ = std::thread([self] { self->Run(); });
  return pump;
}

LogPump::~LogPump() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void LogPump::Wake() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    woken_ = true;
  }
  changed_.notify_all();
}

void LogPump::Run() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!stop_) {
    woken_ = false;
    lock.unlock();
    std::optional<MonoTime> next = shipper_->Step();
    *shipped_ = shipper_->shipped_end();
    MonoTime now = clock_.Mono();
    lock.lock();
    changed_.notify_all();  // ShipAll looks again
    changed_.wait_for(lock, Chrono(next ? *next - now : kLongestWait),
                      [this] { return woken_ || stop_; });
  }
}

Status LogPump::ShipAll(Duration within) {
  MonoTime deadline = clock_.Mono() + within;
  spool_->FlushPartials();
  shipper_->SetEnding();
  Wake();
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    lock.unlock();
    bool all = shipper_->AllShipped();
    MonoTime now = clock_.Mono();
    lock.lock();
    if (all) return Status::Ok();
    if (now >= deadline) break;
    // Short waits: a notification between the look and the wait must not cost the deadline.
    changed_.wait_for(lock, std::min(Chrono(deadline - now), std::chrono::milliseconds(20)));
  }
  lock.unlock();
  int64_t lines = spool_->WaitingFrom(shipper_->shipped_end()).lines;
  std::string why = trouble();
  return Status(Code::kTimeout, std::to_string(lines) + " log lines are not in the store" +
                                    (why.empty() ? std::string() : ": " + why));
}

void LogPump::SetBegun() {
  shipper_->SetBegun();
  Wake();
}

void LogPump::SetLeaving(bool leaving) {
  shipper_->SetLeaving(leaving);
  Wake();
}

std::string LogPump::trouble() const {
  std::string store = shipper_->trouble();
  std::string disk = spool_->trouble();
  if (store.empty() || disk.empty()) return store + disk;
  return disk + "; " + store;
}

}  // namespace stoker

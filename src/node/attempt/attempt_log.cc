// SPDX-License-Identifier: Apache-2.0
#include "node/attempt/attempt_log.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "sys/spool_file.h"

namespace stoker::node {

AttemptLog::AttemptLog(ObjectStore& store, Clock& clock, const std::string& dir, LogPlace place)
    : store_(store),
      clock_(clock),
      folder_(dir + "/" + kSpoolPrefix + std::to_string(place.attempt)),
      place_(std::move(place)) {}

Status AttemptLog::Open(const std::function<bool()>& cancelled) {
  int64_t pause = 50;
  while (!pump_) {
    STOKER_ASSIGN(std::unique_ptr<SpoolFolder> spool, OpenSpoolFolder(folder_));
    auto pump = LogPump::Start(store_, clock_, std::move(spool), place_);
    if (pump.ok()) {
      const std::lock_guard lock(mutex_);
      pump_ = std::move(*pump);
      pump_->SetLeaving(leaving_);
      pump_->AwaitProgram();
      if (when_open_) when_open_(pump_->shipped());
    } else if (!pump.status().transient() || cancelled()) {
      return pump.status();
    } else {
      std::this_thread::sleep_for(std::chrono::milliseconds(pause));
      pause = std::min<int64_t>(pause * 2, 5000);
    }
  }
  return Status::Ok();
}

void AttemptLog::Mask(const std::vector<std::string>& secrets) {
  const std::lock_guard lock(mutex_);
  if (!mask_) mask_ = std::make_shared<LogMask>(pump_->sink(), secrets);
}

void AttemptLog::Say(const std::string& text) {
  std::shared_ptr<LogMask> mask;
  LogPump* pump = nullptr;
  {
    const std::lock_guard lock(mutex_);
    mask = mask_;
    pump = pump_.get();
  }
  if (pump != nullptr) pump->sink().Say(mask ? mask->Masked(text) : text);
}

std::string AttemptLog::Masked(const std::string& text) const {
  const std::lock_guard lock(mutex_);
  return mask_ ? mask_->Masked(text) : text;
}

LogSink& AttemptLog::Sink() {
  const std::lock_guard lock(mutex_);
  if (mask_) return *mask_;
  return pump_->sink();
}

void AttemptLog::FlushMask() {
  std::shared_ptr<LogMask> mask;
  {
    const std::lock_guard lock(mutex_);
    mask = mask_;
  }
  if (mask) mask->Flush();
}

void AttemptLog::SetLeaving(bool leaving) {
  const std::lock_guard lock(mutex_);
  leaving_ = leaving;
  if (pump_) pump_->SetLeaving(leaving);
}

void AttemptLog::Does(const std::string& what) {
  const std::lock_guard lock(mutex_);
  doing_ = what;
}

std::string AttemptLog::doing() const {
  const std::lock_guard lock(mutex_);
  return doing_;
}

void AttemptLog::Complete(NodeReport& report) const {
  const std::lock_guard lock(mutex_);
  report.doing = doing_;
  report.trouble = pump_ ? pump_->trouble() : "";
  if (!pump_) return;
  report.log_lines = pump_->spool().counters().records;
  report.stderr_tail = pump_->spool().stderr_tail();
}

}  // namespace stoker::node

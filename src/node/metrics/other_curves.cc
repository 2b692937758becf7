// SPDX-License-Identifier: Apache-2.0
#include "node/metrics/other_curves.h"

#include <chrono>
#include <utility>
#include <vector>

#include "ledger/index.h"
#include "ledger/metrics/segments.h"

namespace stoker::node {
namespace {

// Each look lists and reads the index; in a bucket that is up to some forty requests.
constexpr Duration kLookFree = Duration::Seconds(10);
constexpr Duration kLookPaid = Duration::Minutes(10);
// What a store that is busy, or away, is left alone for.
constexpr Duration kAgain = Duration::Seconds(30);

}  // namespace

OtherCurves::OtherCurves(Ledger& ledger, Clock& clock, std::string job, std::string name,
                         std::function<bool(const std::string&)> wanted)
    : ledger_(ledger),
      clock_(clock),
      job_(std::move(job)),
      name_(std::move(name)),
      wanted_(std::move(wanted)) {}

OtherCurves::~OtherCurves() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  woken_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void OtherCurves::Start() {
  thread_ = std::thread([this] { Run(); });
}

void OtherCurves::Run() {
  const bool free = ledger_.store().traits().requests_are_free;
  for (;;) {
    const Status looked = Look();
    const Duration pause = !looked.ok() ? kAgain : free ? kLookFree : kLookPaid;
    std::unique_lock lock(mutex_);
    trouble_ = looked.ok() ? "" : "other runs of this name cannot be read: " + looked.ToString();
    if (woken_.wait_for(lock, std::chrono::milliseconds(pause.ms), [this] { return stop_; })) {
      return;
    }
  }
}

Status OtherCurves::Look() {
  STOKER_ASSIGN(const JobList list, ReadIndex(ledger_));
  std::map<std::string, Curves> now;
  bool changed = false;
  for (const Summary& job : list.jobs) {  // newest first
    if (job.name != name_ || job.id == job_) continue;
    if (now.size() == kMostOthers) break;
    if (const auto known = read_.find(job.id); known != read_.end()) {
      now.insert(*known);
      continue;
    }
    {
      const std::lock_guard lock(mutex_);
      if (stop_) return Status::Ok();
    }
    STOKER_ASSIGN(RunMetrics run, ReadMetrics(ledger_.store(), job.id, 0, wanted_));
    Curves& curves = now[job.id];
    for (auto& [series, parts] : run.series) curves[series] = metrics::MakeCurve(std::move(parts));
    changed = true;
  }
  read_ = std::move(now);
  if (!changed) return Status::Ok();
  metrics::OtherRuns others;
  for (const auto& [id, curves] : read_) {
    for (const auto& [series, curve] : curves) others.Add(series, curve);
  }
  const std::lock_guard lock(mutex_);
  news_ = std::move(others);
  return Status::Ok();
}

std::optional<metrics::OtherRuns> OtherCurves::News() {
  const std::lock_guard lock(mutex_);
  return std::exchange(news_, std::nullopt);
}

std::string OtherCurves::trouble() {
  const std::lock_guard lock(mutex_);
  return trouble_;
}

}  // namespace stoker::node

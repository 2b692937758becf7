// SPDX-License-Identifier: Apache-2.0
#include "node/metrics/other_curves.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "ledger/index.h"
#include "ledger/metrics/segments.h"
#include "ledger/records.h"

namespace stoker::node {
namespace {

// Each look lists and reads the index, and records of jobs that are looked after: each once, and
// those of this name again. In a bucket that is up to some forty requests, and these.
constexpr size_t kMostRecords = 100;
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

bool OtherCurves::Stopped() {
  const std::lock_guard lock(mutex_);
  return stop_;
}

// Those in the index, and those that have ended and wait for somebody to clear up after them.
Result<std::vector<std::string>> OtherCurves::Ended() {
  std::map<std::string, WallTime> ended;
  STOKER_ASSIGN(const JobList list, ReadIndex(ledger_));
  for (const Summary& job : list.jobs) {
    if (job.name == name_) ended[job.id] = job.created;
  }
  STOKER_ASSIGN(const std::vector<std::string> active, ActiveJobs(ledger_));
  size_t reads = 0;
  for (const std::string& id : active) {
    const auto known = active_.find(id);
    const bool other = known != active_.end() && known->second != name_;
    if (other || id == job_ || ended.contains(id)) continue;
    if (++reads > kMostRecords || Stopped()) break;
    const auto read = ReadJob(ledger_, id);
    if (read.status().transient()) return read.status();
    if (!read.ok()) continue;
    active_[id] = read->job.name;
    if (read->job.name == name_ && IsFinal(read->job.state)) ended[id] = read->job.created;
  }
  ended.erase(job_);
  std::vector<std::string> ids;
  for (const auto& [id, created] : ended) ids.push_back(id);
  std::sort(ids.begin(), ids.end(),
            [&](const std::string& a, const std::string& b) { return ended[a] > ended[b]; });
  return ids;
}

Status OtherCurves::Look() {
  STOKER_ASSIGN(const std::vector<std::string> ended, Ended());
  std::map<std::string, Curves> now;
  bool changed = false;
  for (const std::string& id : ended) {
    if (now.size() == kMostOthers) break;
    if (const auto known = read_.find(id); known != read_.end()) {
      now.insert(*known);
      continue;
    }
    if (Stopped()) return Status::Ok();
    STOKER_ASSIGN(RunMetrics run, ReadMetrics(ledger_.store(), id, 0, wanted_));
    Curves& curves = now[id];
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

// SPDX-License-Identifier: Apache-2.0
// Reads the curves of other runs of a name from the store, at a bounded pace, beside the job.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "ledger/ledger.h"
#include "metrics/rules/other_runs.h"
#include "port/clock.h"

namespace stoker::node {

// So many runs count, those that were submitted last.
inline constexpr size_t kMostOthers = 30;

// Of the runs that have ended: each is read once. Everything given must outlive it.
class OtherCurves {
 public:
  OtherCurves(Ledger& ledger, Clock& clock, std::string job, std::string name,
              std::function<bool(const std::string&)> wanted);
  ~OtherCurves();
  void Start();
  // What is known, when it has changed since the last call.
  std::optional<metrics::OtherRuns> News();
  // "" or what keeps them from being read; any thread.
  std::string trouble();

 private:
  using Curves = std::map<std::string, std::vector<metrics::CurveEntry>>;
  void Run();
  bool Stopped();
  Status Look();
  // The ids of the ended jobs of this name, newest first.
  Result<std::vector<std::string>> Ended();

  Ledger& ledger_;
  Clock& clock_;
  const std::string job_;
  const std::string name_;
  const std::function<bool(const std::string&)> wanted_;
  // Of the thread alone, by job: what was read of it; the name of one that is looked after.
  std::map<std::string, Curves> read_;
  std::map<std::string, std::string> active_;

  std::mutex mutex_;  // guards what follows
  std::condition_variable woken_;
  bool stop_ = false;
  std::optional<metrics::OtherRuns> news_;
  std::string trouble_;
  std::thread thread_;
};

}  // namespace stoker::node

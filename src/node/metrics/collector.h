// SPDX-License-Identifier: Apache-2.0
// Finds what a program says of its training while it runs, and keeps it in the store.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "ledger/metrics/segments.h"
#include "metrics/log_lines.h"
#include "metrics/rules/rule_watch.h"
#include "node/metrics/batch.h"
#include "node/metrics/file_reading.h"
#include "node/metrics/log_sieve.h"
#include "node/metrics/other_curves.h"
#include "port/clock.h"
#include "port/object_store.h"

namespace stoker::node {

// A rule of the job, and what is done once it is broken.
struct StopRule {
  metrics::Rule rule;
  bool warn = false;  // it is only said
};

struct CollectorConfig {
  std::string job;
  int attempt = 0;
  int rank = 0;
  MetricPlaces places;
  std::string extra;     // the path of $STOKER_METRICS
  std::string remember;  // a file of the machine: what lay there before the program began
  std::vector<metrics::Pattern> patterns;
  std::vector<StopRule> rules;
  int64_t resumed = -1;      // when what the attempt restored was saved; as metrics/curve.h has it
  Ledger* ledger = nullptr;  // with rules about other runs
  std::string name;          // of the job, and of those runs
  std::function<void(const std::string& line)> say;  // to the log; from the thread, and Finish
};

// Begin before the program starts, then Start; Finish after its end. An agent that died in between
// is followed by another one, which calls TakeUp instead, gives it the log's lines, and finishes.
class MetricCollector {
 public:
  MetricCollector(CollectorConfig config, ObjectStore& store, Clock& clock);
  ~MetricCollector();

  // Not ok: the store does not say what earlier attempts have, which rules need; try again.
  Status Begin();
  // `broken`: told, from the thread, that a rule is broken, and by what. Once.
  void Start(std::function<void(const std::string& why)> broken);
  // False: no program was started here, or the store does not say (try again).
  Result<bool> TakeUp();
  // One past the last line of the log that a former agent has looked at.
  int64_t next_line() const { return log_line_ + 1; }
  // Records of the log as the spool keeps them, `first` is the number of the first. Any thread;
  // quick. Of those that may hold metrics and wait beyond 8 MiB, the newest are left out, and that
  // is said.
  void OnRecords(int64_t first, std::string_view records);
  // What waits of them. Not while the thread runs.
  void ReadLog();
  // Reads to the end and brings all into the store. Not ok: something is left that another call may
  // still bring there.
  Status Finish(MonoTime deadline);
  // "" or what keeps metrics from the store; any thread.
  std::string trouble();

 private:
  void Run();
  void Stop();
  void Look(bool find);
  bool FlushDue() const;
  Status Flush(bool last);
  Status BeginWriter();
  Status Send();
  Status CountAgain();
  Status PutTotals();
  void Recognise();
  void TellAside();
  Status GoOn();
  Status GoOnCounting();
  Status LearnEarlier();
  void Judge();
  void TellIdle();
  MetricHead Head() const;

  const CollectorConfig config_;
  ObjectStore& store_;
  Clock& clock_;
  MetricFiles files_;
  metrics::LogLines lines_;
  MetricBatch batch_;
  metrics::RuleWatch watch_;
  std::function<void(const std::string&)> broken_;
  std::optional<MonoTime> first_point_;
  bool watching_ = false;
  std::vector<std::string> warnings_;
  std::unique_ptr<OtherCurves> others_;
  bool idle_told_ = false;
  MetricWriter writer_;
  bool begun_ = false;       // the writer knows what is in the store
  bool head_taken_ = false;  // and what a former agent wrote there has been gone on from
  MetricTotals totals_;
  bool totals_read_ = false;
  bool totals_changed_ = false;
  int64_t log_line_ = 0;
  int64_t log_points_ = 0;
  std::vector<std::string> log_kinds_;
  std::set<std::string> said_;
  MonoTime started_;
  std::optional<MonoTime> flushed_;
  std::optional<MonoTime> totals_put_;
  bool log_finished_ = false;

  std::atomic<bool> stop_{false};
  std::mutex mutex_;  // guards what follows
  std::condition_variable woken_;
  LogSieve sieve_;
  int64_t passed_ = 0;  // the newest line that went through it
  std::deque<std::pair<int64_t, std::string>> queue_;
  size_t queued_ = 0;  // bytes
  int64_t unlooked_ = 0;
  std::string trouble_;
  int64_t resumed_;
  // Where this attempt had begun when what earlier ones came to was read.
  std::optional<std::map<std::string, SourceBegin>> earlier_begins_;
  std::thread thread_;
};

}  // namespace stoker::node

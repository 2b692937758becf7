// SPDX-License-Identifier: Apache-2.0
// What an attempt's program says of its training, as node/metrics/ finds it.
#include <algorithm>

#include "checkpoint/checkpoint_store.h"
#include "job/checkpoint_name.h"
#include "ledger/log/log_reader.h"
#include "metrics/patterns.h"
#include "metrics/rules/rule.h"
#include "node/attempt_run.h"

namespace stoker::node {

std::string AttemptRun::MetricsFile() const {
  return config_.dir + "/metrics-" + std::to_string(config_.attempt) + ".jsonl";
}

std::unique_ptr<MetricCollector> AttemptRun::MakeCollector() {
  CollectorConfig config;
  config.job = config_.job.id;
  config.attempt = config_.attempt;
  config.rank = config_.rank;
  config.places = {WorkDir(), config_.spec.tensorboard};
  config.extra = MetricsFile();
  config.remember = config_.dir + "/metrics-" + std::to_string(config_.attempt) + ".before";
  for (const MetricSpec& metric : config_.spec.metrics) {
    auto pattern = metrics::Pattern::Make(metric.name, metric.regex);
    if (pattern.ok()) config.patterns.push_back(std::move(*pattern));
  }
  // One node decides: rank 0, whose curve is the one that is shown.
  for (const StopRuleSpec& one : config_.spec.stop_when) {
    const auto rule = metrics::ParseRule(one.rule).rule;
    if (rule && config_.rank == 0) config.rules.push_back({*rule, one.warn});
  }
  config.ledger = &ledger_;
  config.name = config_.job.name;
  config.resumed = RestoredWasSaved();
  config.say = [this](const std::string& line) { Say(line); };
  return std::make_unique<MetricCollector>(std::move(config), store_, clock_);
}

// When the files of the checkpoint that this attempt restored were written; 0: it began at the
// start; -1: nobody knows.
int64_t AttemptRun::RestoredWasSaved() {
  if (config_.attempt <= 1) return -1;
  if (restored_.empty()) return 0;
  const CheckpointName name = SplitCheckpointName(restored_);
  const auto manifest =
      LoadManifest(store_, name.job.empty() ? config_.job.id : name.job, name.name);
  if (!manifest.ok()) return -1;
  int64_t saved = 0;
  for (const Part& part : manifest->parts) {
    for (const ManifestFile& file : part.files) saved = std::max(saved, file.mtime_ns / 1'000'000);
  }
  const int64_t known = manifest->created.ms;
  return saved > 0 && (known <= 0 || saved < known) ? saved : known;
}

// When all that the program finds is there, and before it starts.
Status AttemptRun::BeginMetrics() {
  auto collector = MakeCollector();
  STOKER_TRY(collector->Begin());
  log_->sink().Tell(nullptr);  // not that of a try that came to nothing later
  MetricCollector* told = collector.get();
  {
    const std::lock_guard lock(mutex_);
    metrics_ = std::move(collector);
  }
  log_->sink().Tell(
      [told](int64_t first, std::string_view records) { told->OnRecords(first, records); });
  return Status::Ok();
}

Status AttemptRun::FinishMetrics(MonoTime deadline) {
  log_->sink().FlushPartials();
  return metrics_->Finish(deadline);
}

// An agent that died had begun to read them: this one reads what is left, once the program is gone.
// The lines of the log that the other one had not looked at are in the spool or in the store.
Status AttemptRun::TakeUpMetrics() {
  if (staged_ || metrics_taken_up_) return Status::Ok();
  auto collector = MakeCollector();
  STOKER_ASSIGN(const bool there, collector->TakeUp());
  metrics_taken_up_ = !there;
  if (!there) return Status::Ok();
  STOKER_TRY(log_->ShipAll(Duration::Seconds(10)));
  LogFilter filter;
  filter.attempt = config_.attempt;
  filter.rank = config_.rank;
  const std::string cursor = std::to_string(config_.attempt) + "." + std::to_string(config_.rank) +
                             ":" + std::to_string(collector->next_line());
  STOKER_ASSIGN(const auto reader, LogReader::Open(store_, config_.job.id, filter, cursor));
  for (;;) {
    STOKER_ASSIGN(const std::vector<LogRecord> records, reader->Next());
    if (records.empty()) break;
    for (const LogRecord& record : records) {
      if (record.note) continue;
      collector->OnRecords(record.line, RecordHeader(record.time, record.stream, record.continues) +
                                            record.text + "\n");
    }
    collector->ReadLog();
  }
  STOKER_TRY(collector->Finish(clock_.Mono()));
  metrics_taken_up_ = true;
  return Status::Ok();
}

}  // namespace stoker::node

// SPDX-License-Identifier: Apache-2.0
#include "node/attempt/attempt_metrics.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "checkpoint/checkpoint_store.h"
#include "job/checkpoint_name.h"
#include "ledger/log/log_reader.h"
#include "metrics/patterns.h"
#include "metrics/rules/rule.h"

namespace stoker::node {

AttemptMetrics::~AttemptMetrics() {
  if (collector_) here_.log.pump().sink().Tell(nullptr);
}

std::string AttemptMetrics::File() const {
  return here_.config.dir + "/metrics-" + std::to_string(here_.config.attempt) + ".jsonl";
}

std::unique_ptr<MetricCollector> AttemptMetrics::MakeCollector(const std::string& restored) {
  CollectorConfig config;
  config.job = here_.config.job.id;
  config.attempt = here_.config.attempt;
  config.rank = here_.config.rank;
  config.places = {here_.WorkDir(), here_.config.spec.tensorboard};
  config.extra = File();
  config.remember =
      here_.config.dir + "/metrics-" + std::to_string(here_.config.attempt) + ".before";
  for (const MetricSpec& metric : here_.config.spec.metrics) {
    auto pattern = metrics::Pattern::Make(metric.name, metric.regex);
    if (pattern.ok()) config.patterns.push_back(std::move(*pattern));
  }
  // One node decides: rank 0, whose curve is the one that is shown.
  for (const StopRuleSpec& one : here_.config.spec.stop_when) {
    const auto rule = metrics::ParseRule(one.rule).rule;
    if (rule && here_.config.rank == 0) config.rules.push_back({*rule, one.warn});
  }
  config.ledger = &here_.ledger;
  config.name = here_.config.job.name;
  config.resumed = WasSaved(restored);
  config.say = [this](const std::string& line) { here_.log.Say(line); };
  return std::make_unique<MetricCollector>(std::move(config), here_.store, here_.clock);
}

// When the files of the checkpoint that this attempt restored were written; 0: it began at the
// start; -1: nobody knows.
int64_t AttemptMetrics::WasSaved(const std::string& checkpoint) {
  if (here_.config.attempt <= 1) return -1;
  if (checkpoint.empty()) return 0;
  const CheckpointName name = SplitCheckpointName(checkpoint);
  const auto manifest =
      LoadManifest(here_.store, name.job.empty() ? here_.config.job.id : name.job, name.name);
  if (!manifest.ok()) return -1;
  int64_t saved = 0;
  for (const Part& part : manifest->parts) {
    for (const ManifestFile& file : part.files) saved = std::max(saved, file.mtime_ns / 1'000'000);
  }
  const int64_t known = manifest->created.ms;
  return saved > 0 && (known <= 0 || saved < known) ? saved : known;
}

Status AttemptMetrics::Begin(const std::string& restored) {
  auto collector = MakeCollector(restored);
  STOKER_TRY(collector->Begin());
  here_.log.pump().sink().Tell(nullptr);  // not that of a try that came to nothing later
  MetricCollector* told = collector.get();
  {
    const std::lock_guard lock(mutex_);
    collector_ = std::move(collector);
  }
  here_.log.pump().sink().Tell(
      [told](int64_t first, std::string_view records) { told->OnRecords(first, records); });
  return Status::Ok();
}

void AttemptMetrics::Start(std::function<void(const std::string& why)> broken) {
  collector_->Start(std::move(broken));
}

std::string AttemptMetrics::trouble() const {
  const std::lock_guard lock(mutex_);
  return collector_ ? collector_->trouble() : "";
}

Status AttemptMetrics::Finish(MonoTime deadline) {
  here_.log.pump().sink().FlushPartials();
  return collector_->Finish(deadline);
}

Status AttemptMetrics::TakeUp() {
  if (taken_up_) return Status::Ok();
  auto collector = MakeCollector("");
  STOKER_ASSIGN(const bool there, collector->TakeUp());
  taken_up_ = !there;
  if (!there) return Status::Ok();
  STOKER_TRY(here_.log.pump().ShipAll(Duration::Seconds(10)));
  LogFilter filter;
  filter.attempt = here_.config.attempt;
  filter.rank = here_.config.rank;
  const std::string cursor = std::to_string(here_.config.attempt) + "." +
                             std::to_string(here_.config.rank) + ":" +
                             std::to_string(collector->next_line());
  STOKER_ASSIGN(const auto reader,
                LogReader::Open(here_.store, here_.config.job.id, filter, cursor));
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
  STOKER_TRY(collector->Finish(here_.clock.Mono()));
  taken_up_ = true;
  return Status::Ok();
}

}  // namespace stoker::node

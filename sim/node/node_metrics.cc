// SPDX-License-Identifier: Apache-2.0
#include "sim/node/node_metrics.h"

#include <utility>

namespace stoker::sim {
namespace {

constexpr int64_t kLookEvery = 1'000;
constexpr int kRank = 0;

std::vector<metrics::Rule> RulesOf(const JobSpec& spec) {
  std::vector<metrics::Rule> rules;
  for (const StopRuleSpec& one : spec.stop_when) {
    if (const auto rule = metrics::ParseRule(one.rule).rule) rules.push_back(*rule);
  }
  return rules;
}

}  // namespace

NodeMetrics::NodeMetrics(Host& host, Process& process, BucketClient& store, const JobSpec& spec,
                         const Job& job, int attempt)
    : host_(host),
      process_(process),
      store_(store),
      job_(job.id),
      attempt_(attempt),
      watch_(RulesOf(spec)),
      writer_(store, job.id, attempt, kRank) {
  series_.name = "loss";
}

Status NodeMetrics::Begin() {
  host_.said[attempt_];
  if (attempt_ <= 1) return Status::Ok();
  auto run = ReadMetrics(store_, job_, kRank,
                         [this](const std::string& series) { return watch_.Wants(series); });
  if (!run.ok()) return run.status().transient() ? run.status() : Status::Ok();
  for (auto& [name, parts] : run->series) {
    watch_.SetEarlier(name, metrics::MakeCurve(std::move(parts)));
  }
  return Status::Ok();
}

void NodeMetrics::Start(std::function<void(const std::string& why)> broken) {
  broken_ = std::move(broken);
  process_.Spawn([this] { Run(); });
}

void NodeMetrics::Run() {
  while (!stopped_) {
    host_.world.scheduler().Sleep(kLookEvery);
    if (stopped_) return;
    Look();
    const bool due = host_.clock.Mono() - flushed_ >= host_.world.plan().flush;
    if (due && (!series_.entries.empty() || writer_.pending())) (void)Flush();
  }
}

void NodeMetrics::Look() {
  const std::vector<Said>& said = host_.said[attempt_];
  for (; read_ < said.size(); ++read_) {
    const metrics::Entry entry =
        metrics::EntryOf(said[read_].step, host_.clock.Wall(), said[read_].loss);
    series_.entries.push_back(entry);
    watch_.Take(series_.name, false, entry);
  }
  for (const metrics::Verdict& verdict : watch_.TakeVerdicts()) {
    if (broken_) std::exchange(broken_, {})(verdict.text);
  }
}

Status NodeMetrics::BeginWriter() {
  if (begun_) return Status::Ok();
  STOKER_ASSIGN(const auto head, writer_.Begin());
  if (head && !head->sources.empty()) {  // an agent before this one has written
    series_.entries.clear();
    read_ = static_cast<size_t>(head->sources[0].offset);
  }
  begun_ = true;
  return Status::Ok();
}

Status NodeMetrics::Flush() {
  flushed_ = host_.clock.Mono();
  STOKER_TRY(BeginWriter());
  if (!writer_.pending() && !series_.entries.empty()) {
    MetricHead head;
    head.sources.emplace_back();
    head.sources[0].kind = "jsonl";
    head.sources[0].offset = static_cast<int64_t>(read_);
    STOKER_TRY(writer_.Add(head, [this](const auto& take) { return take(series_); }));
    series_.entries.clear();
  }
  if (!writer_.pending()) return Status::Ok();
  const Status sent = writer_.Send();
  if (!sent.Is(Code::kConflict)) return sent.ok() ? writer_.Merge() : sent;
  begun_ = false;
  return Status(Code::kBusy, sent.message());
}

Status NodeMetrics::Finish() {
  stopped_ = true;
  broken_ = {};
  // From where an agent before this one was: what it had not read is on the disk.
  STOKER_TRY(BeginWriter());
  Look();
  Status flushed;
  do {
    flushed = Flush();
  } while (flushed.ok() && (!series_.entries.empty() || writer_.pending()));
  return flushed.transient() ? flushed : Status::Ok();
}

}  // namespace stoker::sim

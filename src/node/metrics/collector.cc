// SPDX-License-Identifier: Apache-2.0
#include "node/metrics/collector.h"

#include <algorithm>
#include <chrono>

#include "base/text.h"
#include "ledger/index.h"
#include "ledger/log/log_record.h"
#include "ledger/paths.h"
#include "sys/file.h"

namespace stoker::node {
namespace {

constexpr Duration kLookEvery = Duration::Seconds(1);
// Looking for new files is a walk through the work directory: the rarer the longer it takes.
constexpr int64_t kRestAfter = 50;
constexpr Duration kFindEvery = Duration::Seconds(2);
constexpr size_t kMaxQueued = 8 << 20;
// So much is read without waiting for the next look, so that it never is in memory for long; but
// for one look in so many, a look at all.
constexpr size_t kReadAt = 512 << 10;
constexpr int kReadsALook = 16;
// In a bucket: so often while the run is young, when somebody looks, and then.
constexpr Duration kYoung = Duration::Minutes(10);
constexpr Duration kYoungFlush = Duration::Seconds(10);
constexpr Duration kFlush = Duration::Seconds(30);
constexpr Duration kTotals = Duration::Minutes(1);
// A batch as large as this goes at once: it is what a former agent, or a slow store, has left.
constexpr int64_t kManyPoints = 200'000;
constexpr size_t kMostWarnings = 100;  // of a job
constexpr size_t kBeginnings = 20;     // of series that no rule is about
// Once there are metrics: when a rule is about none of them, this is said.
constexpr Duration kIdle = Duration::Minutes(1);

std::vector<metrics::Rule> RulesOf(const std::vector<StopRule>& rules) {
  std::vector<metrics::Rule> out;
  for (const StopRule& rule : rules) out.push_back(rule.rule);
  return out;
}

}  // namespace

MetricCollector::MetricCollector(CollectorConfig config, ObjectStore& store, Clock& clock)
    : config_(std::move(config)),
      store_(store),
      clock_(clock),
      files_(config_.places, config_.extra, RunNames(config_.attempt, sys::Hostname()), clock),
      lines_(config_.patterns),
      watch_(RulesOf(config_.rules)),
      writer_(store, config_.job, config_.attempt, config_.rank),
      started_(clock.Mono()),
      sieve_(!config_.patterns.empty()),
      resumed_(config_.resumed) {
  batch_.set_apart([this](const std::string& better, const std::string& worse) {
    return files_.runs().Apart(worse, better);
  });
}

MetricCollector::~MetricCollector() { Stop(); }

Status MetricCollector::Begin() {
  batch_.set_restored(resumed_ > 0);
  STOKER_TRY(GoOn());
  if (!watch_.empty()) STOKER_TRY(LearnEarlier());
  files_.PassOver();
  MetricHead head;
  head.sources = files_.sources();
  for (MetricSource& one : files_.settings_passed_over()) head.sources.push_back(std::move(one));
  head.resumed = resumed_;
  // Without it the metrics of this program are lost if its agent dies, and nothing else.
  const Status kept = sys::WriteFileAtomic(config_.remember, EncodeMetricHead(head), 0600, false);
  if (!kept.ok()) config_.say("stoker: metrics: " + kept.ToString());
  return Status::Ok();
}

void MetricCollector::Start(std::function<void(const std::string& why)> broken) {
  broken_ = std::move(broken);
  if (watch_.WantsOthers() && config_.ledger != nullptr) {
    others_ = std::make_unique<OtherCurves>(
        *config_.ledger, clock_, config_.job, config_.name,
        [this](const std::string& series) { return watch_.WantsOthers(series); });
    others_->Start();
  }
  thread_ = std::thread([this] { Run(); });
}

// What an earlier attempt had learned of the log, and of its runs, holds for this one, too.
Status MetricCollector::GoOn() {
  if (config_.attempt <= 1) return Status::Ok();
  auto head = ReadEarlierHead(store_, config_.job, config_.rank, config_.attempt);
  if (head.status().transient()) return head.status();
  if (!head.ok() || !*head) return Status::Ok();
  lines_.set_series(std::move((*head)->log_series));
  files_.runs().set_runs(std::move((*head)->runs));
  batch_.set_aside(std::move((*head)->aside));
  return GoOnCounting();
}

// Where W&B's own steps go on.
Status MetricCollector::GoOnCounting() {
  const auto& runs = files_.runs().runs();
  const bool any = std::any_of(runs.begin(), runs.end(),
                               [](const MetricRun& run) { return run.kind == "wandb"; });
  if (!any || resumed_ <= 0) return Status::Ok();
  MetricHead now;
  now.attempt = config_.attempt;
  now.rank = config_.rank;
  now.resumed = resumed_;
  auto last = ReadLastSteps(store_, config_.job, now);
  if (last.status().transient()) return last.status();
  if (last.ok()) files_.set_counted(std::move(*last));
  return Status::Ok();
}

// Rules are judged over all attempts as one curve.
Status MetricCollector::LearnEarlier() {
  watching_ = true;
  batch_.set_watcher([this](const std::string& series, bool ordered, const metrics::Entry* entry,
                            const std::optional<int64_t>& begin) {
    if (entry == nullptr) return watch_.Forget(series);
    watch_.Take(series, ordered, *entry, begin);
  });
  if (config_.attempt <= 1) return Status::Ok();
  std::set<std::string> others;  // of which only the beginning counts: some will do
  auto run = ReadMetrics(store_, config_.job, config_.rank, [&](const std::string& series) {
    if (watch_.Wants(series)) return true;
    if (!watch_.WantsBeginnings()) return false;
    return others.size() < kBeginnings ? (others.insert(series), true) : others.contains(series);
  });
  if (!run.ok()) {
    if (run.status().transient()) return run.status();
    config_.say(
        "stoker: stop_when: what earlier attempts have cannot be read, and does not count: " +
        run.status().ToString());
    return Status::Ok();
  }
  for (auto& [name, parts] : run->series) {
    parts.emplace_back().attempt = config_.attempt;
    parts.back().resumed = resumed_;
    watch_.SetEarlier(name, metrics::MakeCurve(std::move(parts)));
  }
  return Status::Ok();
}

// What the last look has proved.
void MetricCollector::Judge() {
  for (const metrics::Verdict& verdict : watch_.TakeVerdicts()) {
    const bool warn = config_.rules[verdict.rule].warn;
    config_.say(std::string("stoker: stop_when: ") + (warn ? "warning: " : "this stops the run: ") +
                verdict.text);
    if (warn) warnings_.push_back(verdict.text);
    if (!warn && broken_) std::exchange(broken_, {})(verdict.text);
  }
  for (const std::string& note : watch_.TakeNotes()) {
    if (said_.insert(note).second) config_.say("stoker: stop_when: " + note);
  }
  if (idle_told_ || batch_.points() == 0) return;
  const MonoTime now = clock_.Mono();
  if (!first_point_) first_point_ = now;
  if (now - *first_point_ >= kIdle) TellIdle();
}

// A rule about nothing is a slip, as a rule.
void MetricCollector::TellIdle() {
  if (std::exchange(idle_told_, true)) return;
  for (const size_t rule : watch_.Idle()) {
    config_.say("stoker: stop_when: there is no such metric (yet): " +
                metrics::RuleText(config_.rules[rule].rule) + "; there are " + batch_.SomeNames());
  }
}

Result<bool> MetricCollector::TakeUp() {
  const auto text = sys::ReadFile(config_.remember);
  if (!text.ok()) return false;
  const auto head = DecodeMetricHead(*text);
  if (!head.ok()) return false;
  files_.set_sources(head->sources);
  resumed_ = head->resumed;
  batch_.set_restored(resumed_ > 0);
  STOKER_TRY(GoOn());
  STOKER_TRY(BeginWriter());
  return true;
}

// What is in the store of this node's metrics: after a death of its agent, from there on.
Status MetricCollector::BeginWriter() {
  if (begun_) return Status::Ok();
  STOKER_ASSIGN(const std::optional<MetricHead> head, writer_.Begin());
  if (config_.rank == 0 && !totals_read_) {
    auto totals = ReadMetricTotals(store_, config_.job);
    if (totals.status().transient()) return totals.status();
    totals_ = totals.ok() ? std::move(*totals) : MetricTotals();
    totals_.BeginAttempt(config_.attempt);
    totals_read_ = true;
  }
  if (head && !head_taken_) {
    files_.set_sources(head->sources);
    batch_.set_orders(head->orders);
    if (config_.rank == 0) STOKER_TRY(CountAgain());
    lines_.set_series(head->log_series);
    files_.runs().set_runs(head->runs);
    batch_.set_aside(head->aside);
    batch_.set_begins(head->begins);
    log_line_ = head->log_line;
    log_points_ = head->log_points;
    log_kinds_ = head->log_kinds;
    for (const MetricSource& source : head->sources) said_.insert("file " + FoundText(source));
    for (const std::string& kind : log_kinds_) said_.insert(kind);
  }
  head_taken_ = true;
  begun_ = true;
  return Status::Ok();
}

// What a former agent has found, which the totals in the store may not have yet.
Status MetricCollector::CountAgain() {
  STOKER_ASSIGN(const RunMetrics run, ReadMetrics(store_, config_.job, config_.rank, {}));
  MetricTotals::Series counted;
  for (const auto& [name, parts] : run.series) {
    if (parts.back().attempt != config_.attempt) continue;
    for (const metrics::Entry& entry : parts.back().entries) counted[name].Add(entry);
  }
  batch_.set_totals(counted);
  totals_changed_ = true;
  return Status::Ok();
}

void MetricCollector::OnRecords(int64_t first, std::string_view records) {
  bool many = false;
  {
    const std::lock_guard lock(mutex_);
    const int64_t lines = sieve_.Sift(first, records, [this](int64_t line, std::string_view kept) {
      if (queued_ + kept.size() > kMaxQueued) {
        unlooked_ += std::count(kept.begin(), kept.end(), '\n');
        return;
      }
      queue_.emplace_back(line, std::string(kept));
      queued_ += kept.size();
    });
    passed_ = first + lines - 1;
    many = queued_ >= kReadAt;
  }
  if (many) woken_.notify_all();
}

void MetricCollector::ReadLog() {
  std::deque<std::pair<int64_t, std::string>> queue;
  int64_t unlooked = 0;
  int64_t passed = 0;
  bool crowded = false;
  {
    const std::lock_guard lock(mutex_);
    queue.swap(queue_);
    passed = passed_;
    queued_ = 0;
    crowded = sieve_.left_out() > 0;
    unlooked = std::exchange(unlooked_, 0);
  }
  if (crowded && said_.insert("crowded").second) {
    config_.say(
        "stoker: metrics: more lines than can be looked at differ in numbers alone; of those "
        "within a millisecond the last is taken");
  }
  if (unlooked > 0) {
    config_.say("stoker: metrics: the log grows faster than it can be looked at; " +
                std::to_string(unlooked) + " lines were not");
  }
  const int64_t before = batch_.points();
  batch_.set_source("", config_.patterns.empty() ? "log" : "pattern");
  for (const auto& [first, text] : queue) {
    int64_t line = first;
    for (size_t at = 0; at < text.size(); ++line) {
      const size_t end = text.find('\n', at);
      const auto record = ParseRecord(std::string_view(text).substr(at, end - at));
      at = end == text.npos ? text.size() : end + 1;
      if (line <= log_line_ || !record || record->stream == LogStream::kSystem) continue;
      lines_.Record(record->stream == LogStream::kErr ? 1 : 0, record->continues, record->text,
                    record->time, batch_);
    }
  }
  log_line_ = std::max(log_line_, passed);
  log_points_ += batch_.points() - before;
}

// What is recognised is said once, in the log.
void MetricCollector::Recognise() {
  for (size_t i = 0; i < metrics::LogLines::kKinds; ++i) {
    const std::string kind(KindName(static_cast<metrics::LogLines::Kind>(i)));
    if (lines_.found()[i] == 0 || !said_.insert(kind).second) continue;
    log_kinds_.push_back(kind);
    config_.say("stoker: metrics: reading " + kind);
  }
  TellAside();
  const std::string untaken = lines_.TakeUntaken();
  if (!untaken.empty()) config_.say("stoker: metrics: " + untaken);
  for (const std::string& trouble : files_.TakeTroubles()) {
    config_.say("stoker: metrics: " + Printable(trouble));
  }
  for (const MetricSource& source : files_.sources()) {
    if (source.points > 0 && said_.insert("file " + FoundText(source)).second) {
      config_.say("stoker: metrics: reading " + FoundText(source));
    }
    if (!source.trouble.empty() && said_.insert("trouble " + source.path).second) {
      config_.say("stoker: metrics: " + FoundText(source) + ": " + Printable(source.trouble));
    }
  }
  if (batch_.left_out() > 0 && said_.insert("left out").second) {
    config_.say("stoker: metrics: more than " + std::to_string(MetricBatch::kMaxSeries) +
                " series: those that came last are left out");
  }
}

namespace {

std::string SourceText(const std::string& source) {
  const std::string kind = source.substr(0, source.find(':'));
  if (kind == "own") return "$STOKER_METRICS";
  if (kind == "bar") return "progress bars in the log";
  if (kind == "tensorboard") return "event files";
  if (kind == "wandb") return "W&B";
  if (kind == "mlflow") return "MLflow";
  return kind == "log" || kind == "pattern" ? "the log" : "metrics." + kind;
}

}  // namespace

// What is read and does not count is said once.
void MetricCollector::TellAside() {
  std::map<std::string, std::vector<std::string>> aside;  // by source
  for (const MetricBatch::Note& note : batch_.TakeNotes()) {
    if (note.stray) {
      config_.say("stoker: metrics: step " + std::to_string(*note.stray) + " of " +
                  SourceText(note.source) +
                  " was said before what was restored had been loaded: it does not count");
      continue;
    }
    const std::string name = "'" + Printable(CutText(note.name, 60)) + "'";
    if (!said_.insert("aside " + note.source + " " + note.name + " " + note.renamed).second)
      continue;
    if (note.renamed.empty()) {
      aside[SourceText(note.source)].push_back(name);
      continue;
    }
    config_.say("stoker: metrics: " + name + " of " + SourceText(note.source) + " is not that of " +
                SourceText(note.better) + ": it is '" + Printable(CutText(note.renamed, 200)) +
                "'");
  }
  for (const auto& [source, names] : aside) {
    config_.say("stoker: metrics: set aside, as a better source has them: " + Join(names, ", ") +
                " of " + source);
  }
}

void MetricCollector::Look(bool find) {
  if (others_) {
    if (auto news = others_->News()) watch_.SetOthers(std::move(*news));
    const std::string trouble = others_->trouble();
    if (!trouble.empty() && said_.insert("others").second) {
      config_.say("stoker: stop_when: " + Printable(trouble) + "; trying again");
    }
  }
  ReadLog();
  files_.Look(find, batch_, [] { return false; });
  Recognise();
  if (watching_) Judge();
}

void MetricCollector::Run() {
  std::optional<MonoTime> found;
  Duration spent;
  for (int reads = 0; !stop_;) {
    bool many = false;
    {
      std::unique_lock lock(mutex_);
      woken_.wait_for(lock, std::chrono::milliseconds(kLookEvery.ms),
                      [this] { return stop_.load() || queued_ >= kReadAt; });
      many = queued_ >= kReadAt;
    }
    if (stop_) return;
    if (many && ++reads < kReadsALook) {
      ReadLog();
      continue;
    }
    reads = 0;
    const MonoTime now = clock_.Mono();
    const bool find = !found || now - *found >= std::max(kFindEvery, spent * kRestAfter);
    Look(find);
    if (find) {
      found = now;
      spent = clock_.Mono() - now;
    }
    if (!FlushDue()) continue;
    const Status flushed = Flush(false);
    const std::lock_guard lock(mutex_);
    trouble_ = flushed.ok() ? "" : "metrics do not reach the store: " + flushed.ToString();
  }
}

bool MetricCollector::FlushDue() const {
  if (batch_.empty() && !writer_.pending()) return false;
  if (!flushed_ || batch_.waiting() > kManyPoints) return true;
  const MonoTime now = clock_.Mono();
  if (store_.traits().requests_are_free) return now - *flushed_ >= Duration::Seconds(2);
  return now - *flushed_ >= (now - started_ < kYoung ? kYoungFlush : kFlush);
}

MetricHead MetricCollector::Head() const {
  MetricHead head;
  head.sources = files_.sources();
  head.runs = files_.runs().runs();
  head.aside = batch_.aside();
  head.log_line = log_line_;
  head.log_points = log_points_;
  head.log_kinds = log_kinds_;
  head.log_series = lines_.series();
  head.begins = batch_.begins();
  head.resumed = resumed_;
  head.attempt = config_.attempt;
  head.rank = config_.rank;
  head.orders = batch_.Orders();
  return head;
}

Status MetricCollector::Send() {
  const Status sent = writer_.Send();
  if (!sent.Is(Code::kConflict)) return sent;
  // What a former agent had sent came after all: on from there.
  begun_ = false;
  head_taken_ = false;
  (void)batch_.Take([](const MetricSeries&) { return Status::Ok(); });
  return Status(Code::kBusy, sent.message());
}

Status MetricCollector::Flush(bool last) {
  flushed_ = clock_.Mono();
  STOKER_TRY(BeginWriter());
  if (writer_.pending()) STOKER_TRY(Send());
  if (!batch_.empty()) {
    STOKER_TRY(writer_.Add(Head(), [this](const TakeSeries& take) { return batch_.Take(take); }));
    totals_changed_ = true;
    STOKER_TRY(Send());
  }
  totals_changed_ |= batch_.TakeTold();
  STOKER_TRY(PutTotals());
  return last ? Status::Ok() : writer_.Merge();
}

Status MetricCollector::PutTotals() {
  if (config_.rank != 0 || !totals_changed_) return Status::Ok();
  const MonoTime now = clock_.Mono();
  const bool due =
      stop_ || !totals_put_ || store_.traits().requests_are_free || now - *totals_put_ >= kTotals;
  if (!due) return Status::Ok();
  // What this attempt throws away of earlier ones is in no extreme of theirs.
  if (config_.attempt > 1 && (!earlier_begins_ || *earlier_begins_ != batch_.begins())) {
    STOKER_ASSIGN(totals_.earlier,
                  ReadEarlierTotals(store_, config_.job, Head(), batch_.sources()));
    earlier_begins_ = batch_.begins();
  }
  totals_.newest = batch_.Totals();
  totals_.left_out = batch_.left_out();
  for (std::string& warning : std::exchange(warnings_, {})) {
    if (totals_.warnings.size() < kMostWarnings) totals_.warnings.push_back(std::move(warning));
  }
  for (const auto& [name, json] : batch_.hyperparameters()) totals_.hyperparameters[name] = json;
  totals_.found_in.clear();
  for (const MetricSource& source : files_.sources()) {
    const std::string text = FoundText(source);
    std::vector<std::string>& all = totals_.found_in;
    if (source.points > 0 && std::find(all.begin(), all.end(), text) == all.end()) {
      all.push_back(text);
    }
  }
  for (const std::string& kind : log_kinds_) totals_.found_in.push_back(kind);
  STOKER_TRY(store_.Put(paths::MetricTotals(config_.job), EncodeMetricTotals(totals_)).status());
  totals_put_ = now;
  totals_changed_ = false;
  return Status::Ok();
}

void MetricCollector::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  woken_.notify_all();
  if (thread_.joinable()) thread_.join();
}

Status MetricCollector::Finish(MonoTime) {
  Stop();
  if (!log_finished_) {
    ReadLog();
    const int64_t before = batch_.points();
    batch_.set_source("", config_.patterns.empty() ? "log" : "pattern");
    lines_.Finish(batch_);
    log_points_ += batch_.points() - before;
    log_finished_ = true;
  }
  others_.reset();
  broken_ = {};  // the program is over: nothing can be stopped
  files_.Look(true, batch_, [] { return false; });
  files_.Finish(batch_);
  batch_.Settle();
  Look(false);
  if (watching_) TellIdle();
  const Status flushed = Flush(true);
  const std::lock_guard lock(mutex_);
  trouble_ = flushed.ok() ? "" : "metrics do not reach the store: " + flushed.ToString();
  // What another try cannot mend must not hold up the end of the job.
  return flushed.transient() || flushed.Is(Code::kNoSpace) ? flushed : Status::Ok();
}

std::string MetricCollector::trouble() {
  const std::lock_guard lock(mutex_);
  return trouble_;
}

}  // namespace stoker::node

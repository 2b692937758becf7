// SPDX-License-Identifier: Apache-2.0
#include "ledger/summary.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "base/utf8.h"
#include "job/checkpoint_name.h"
#include "ledger/segments/line_text.h"
#include "ledger/segments/segment_text.h"
#include "metrics/numbers.h"

namespace stoker {
namespace {

constexpr size_t kMaxText = 200;

double Float(LineReader& line) {
  std::string text;
  line.Text(&text);
  const auto value = metrics::ParseNumber(text);
  if (!value) line.Refuse();
  return value.value_or(0);
}

template <typename E>
E Enum(LineReader& line) {
  std::string name;
  line.Text(&name);
  const auto value = ParseName<E>(name);
  if (!value) line.Refuse();
  return value.value_or(E{});
}

std::string Short(const std::string& text) { return CutText(Printable(text), kMaxText); }

std::string Remark(const Job& job, const Attempt& last) {
  std::string text;
  if (last.unkept > 0) {
    text = last.unkept_in.empty() ? "what is not kept is gone"
                                  : "what is not kept lies in " + last.unkept_in;
  }
  if (!last.missing_outputs.empty()) {
    text += (text.empty() ? "" : "; ") +
            ("declared and never came: " + Join(last.missing_outputs, ", "));
  }
  const auto left = NewerThanSaved(job);
  if (left && job.state != JobState::kSucceeded) {
    text += (text.empty() ? "" : "; ") + ("its program left " + LeftText(*left)) +
            ": stoker run --from " + job.id + "/" + std::string(kAsLeft);
  }
  if (!last.trouble.empty()) text += (text.empty() ? "" : "; ") + last.trouble;
  return Short(text);
}

}  // namespace

bool SummaryMetric::operator==(const SummaryMetric& other) const {
  const auto same = [](double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); };
  return name == other.name && same(last, other.last) && last_step == other.last_step &&
         same(min, other.min) && same(max, other.max);
}

namespace {

// Of the newest attempt that has begun there, else the newest of all: a move may come to nothing.
const Launch* NewestBegun(const Job& job) {
  for (auto attempt = job.attempts.rbegin(); attempt != job.attempts.rend(); ++attempt) {
    const bool begun = attempt->state != AttemptState::kProvisioning && !attempt->not_needed;
    if (!begun || attempt->launches.empty()) continue;
    // Of node 0, whose machine people ask for first.
    const Launch* launch = FindLaunch(job, attempt->launches.front());
    if (launch != nullptr) return launch;
  }
  return job.launches.empty() ? nullptr : &job.launches.back();
}

void AddPlace(const Job& job, Summary* summary) {
  const Launch* const launch = NewestBegun(job);
  if (launch == nullptr) return;
  const Ask& ask = RequestOf(job, *launch).ask;
  const Place& at = ask.place;
  summary->provider = Short(at.provider);
  const std::string& within = at.zone.empty() ? at.region : at.zone;
  if (within.empty()) return;
  summary->place = Short(at.provider + "/" + within);
  summary->type = Short(ask.type);
  summary->instance = Short(launch->own_id.empty() ? launch->instance_id : launch->own_id);
}

}  // namespace

const std::vector<std::string>& TagsOf(const Summary& job) {
  static const std::vector<std::string> kNone;
  return job.said ? job.said->tags : kNone;
}

const std::string& NoteOf(const Summary& job) {
  static const std::string kNone;
  return job.said ? job.said->note : kNone;
}

Summary SummaryOf(const Job& job) {
  Summary summary;
  summary.id = job.id;
  summary.rev = job.rev;
  summary.name = Short(job.name);
  summary.user = Short(job.user);
  summary.host = Short(job.host);
  summary.me = Short(job.me);
  summary.user_host = Short(job.user_host);
  summary.state = job.state;
  summary.num_nodes = job.num_nodes;
  const Attempt* newest = NewestNeeded(job);
  summary.attempts = newest != nullptr ? newest->number : 0;
  AddPlace(job, &summary);
  summary.created = job.created;
  summary.ended = job.ended;
  summary.retry_of = job.retry_of;
  summary.command = Short(job.command);
  if (IsFinal(job.state) && newest != nullptr) {
    summary.remark = Remark(job, *newest);
    summary.unkept = newest->unkept;
  }
  std::optional<Ending> ending;
  for (const Attempt& attempt : job.attempts) {
    if (!summary.started) summary.started = attempt.running;
    summary.run_ms += attempt.run_ms;
    if (!attempt.newest_checkpoint.empty()) {
      summary.newest_checkpoint = Short(attempt.newest_checkpoint);
    }
    const bool over = attempt.state == AttemptState::kEnded && !attempt.not_needed;
    if (over && attempt.ending) ending = attempt.ending;
  }
  // What ended an attempt before is no word about the one that goes on.
  if (job.state == JobState::kRunning || job.state == JobState::kStopping) ending.reset();
  if (job.result) ending = job.result;
  if (ending) {
    summary.reason = ending->reason;
    summary.exit_code = ending->exit_code;
    summary.signal = ending->signal;
    summary.out_of_memory = ending->out_of_memory;
    if (ending->reason == EndReason::kStoppedByRule || ending->reason == EndReason::kTimedOut) {
      summary.why = Short(ending->why);
    }
  }
  return summary;
}

std::vector<SummaryMetric> SummaryMetricsOf(const MetricTotals& totals) {
  std::vector<SummaryMetric> all;
  for (const auto& [name, t] : totals.All()) {
    all.push_back({Spelled(name), t.last, t.last_step, t.min, t.max});
  }
  if (all.size() > kSummaryMetrics) {
    // Long names are those of single layers and gradients.
    std::stable_sort(all.begin(), all.end(), [](const SummaryMetric& a, const SummaryMetric& b) {
      return a.name.size() < b.name.size();
    });
    all.resize(kSummaryMetrics);
    std::sort(all.begin(), all.end(),
              [](const SummaryMetric& a, const SummaryMetric& b) { return a.name < b.name; });
  }
  return all;
}

std::string EncodeSummary(const Summary& s) {
  LineWriter line;
  line.Text(s.id);
  line.Number(s.rev);
  line.Text(s.name);
  line.Text(s.user);
  line.Text(Name(s.state));
  line.Number(s.num_nodes);
  line.Number(s.attempts);
  line.Text(s.provider);
  line.Number(s.created.ms);
  line.Time(s.started);
  line.Time(s.ended);
  line.Number(s.run_ms);
  line.Text(Name(s.reason));
  line.Number(s.exit_code);
  line.Number(s.signal);
  line.Number(s.out_of_memory ? 1 : 0);
  line.Text(s.newest_checkpoint);
  line.Text(s.retry_of);
  line.Text(s.host);
  line.Text(s.remark);
  line.Number(s.unkept);
  line.Number(static_cast<int64_t>(s.metrics.size()));
  for (const SummaryMetric& metric : s.metrics) {
    line.Text(metric.name);
    line.Text(NumberText(metric.last));
    line.Number(metric.last_step);
    line.Text(NumberText(metric.min));
    line.Text(NumberText(metric.max));
  }
  line.Text(s.why);
  line.Text(s.command);
  line.Text(s.me);
  line.Text(s.user_host);
  line.Text(s.place);
  line.Text(s.type);
  line.Text(s.instance);
  return line.Take();
}

namespace {

// `summary`: a new one. False: the line is none.
bool ReadSummary(std::string_view text, Summary* summary) {
  LineReader line(text);
  Summary& s = *summary;
  line.Text(&s.id);
  s.rev = line.Number(0, INT64_MAX);
  line.Text(&s.name);
  line.Text(&s.user);
  s.state = Enum<JobState>(line);
  s.num_nodes = static_cast<int>(line.Number(1, INT32_MAX));
  s.attempts = static_cast<int>(line.Number(0, INT32_MAX));
  line.Text(&s.provider);
  s.created.ms = line.Number(INT64_MIN, INT64_MAX);
  s.started = line.Time();
  s.ended = line.Time();
  s.run_ms = line.Number(INT64_MIN, INT64_MAX);
  s.reason = Enum<EndReason>(line);
  s.exit_code = static_cast<int>(line.Number(INT32_MIN, INT32_MAX));
  s.signal = static_cast<int>(line.Number(INT32_MIN, INT32_MAX));
  s.out_of_memory = line.Number(0, 1) == 1;
  line.Text(&s.newest_checkpoint);
  line.Text(&s.retry_of);
  if (!line.AtEnd()) line.Text(&s.host);
  if (!line.AtEnd()) line.Text(&s.remark);
  if (!line.AtEnd()) s.unkept = line.Number(0, INT64_MAX);
  const int64_t metrics = line.AtEnd() ? 0 : line.Number(0, 1000);
  for (int64_t i = 0; i < metrics; ++i) {
    SummaryMetric& metric = s.metrics.emplace_back();
    line.Text(&metric.name);
    metric.last = Float(line);
    metric.last_step = line.Number(INT64_MIN, INT64_MAX);
    metric.min = Float(line);
    metric.max = Float(line);
  }
  if (!line.AtEnd()) line.Text(&s.why);
  if (!line.AtEnd()) line.Text(&s.command);
  if (!line.AtEnd()) line.Text(&s.me);
  if (!line.AtEnd()) line.Text(&s.user_host);
  if (!line.AtEnd()) line.Text(&s.place);
  if (!line.AtEnd()) line.Text(&s.type);
  if (!line.AtEnd()) line.Text(&s.instance);
  return line.Done() && IsSafeName(s.id);
}

}  // namespace

std::optional<Summary> DecodeSummary(std::string_view text) {
  Summary summary;
  if (!ReadSummary(text, &summary)) return std::nullopt;
  return summary;
}

std::string EncodeSegment(const std::vector<Summary>& summaries) {
  std::string text;
  text.reserve(summaries.size() * 256 + 128);
  for (const Summary& summary : summaries) text += EncodeSummary(summary) + "\n";
  return EndSegment(std::move(text));
}

namespace {

// Ten thousand lines are megabytes, each move of which costs. No line is shorter than this.
void MakeRoom(std::string_view text, std::vector<Summary>* out) {
  constexpr size_t kShortest = 100;
  const auto lines = static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
  const size_t wanted = out->size() + std::min(lines, text.size() / kShortest);
  if (wanted > out->capacity()) out->reserve(std::max(wanted, 2 * out->capacity()));
}

}  // namespace

Status DecodeSegment(const std::string& key, std::string_view text, std::vector<Summary>* out) {
  MakeRoom(text, out);
  return ReadSegmentLines(key, text, [out](std::string_view line) {
    if (ReadSummary(line, &out->emplace_back())) return true;
    out->pop_back();
    return false;
  });
}

}  // namespace stoker

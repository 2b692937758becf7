// SPDX-License-Identifier: Apache-2.0
#include "ledger/summary.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/digest.h"
#include "base/text.h"
#include "base/utf8.h"
#include "metrics/numbers.h"

namespace stoker {
namespace {

constexpr int kSegmentFormat = 1;
constexpr size_t kMaxText = 200;

class LineWriter {
 public:
  void Number(int64_t value) {
    char digits[24];
    const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
    Comma();
    line_.append(digits, end);
  }
  void Text(std::string_view text) {
    Comma();
    line_ += '"';
    for (const char c : text) {
      if (c == '"' || c == '\\') line_ += '\\';
      if (static_cast<unsigned char>(c) >= 0x20) line_ += c;
    }
    line_ += '"';
  }
  // A negative one would read as "never", or not at all.
  void Time(const std::optional<WallTime>& time) {
    Number(time ? std::max<int64_t>(time->ms, 0) : -1);
  }
  std::string Take() { return std::move(line_) + "]"; }

 private:
  void Comma() { line_ += line_.size() > 1 ? "," : ""; }
  std::string line_ = "[";
};

// The inverse of LineWriter and no more of JSON than that, because it is what `ls` waits for. Any
// other JSON array of numbers and plain text is read or refused, never misread.
class LineReader {
 public:
  explicit LineReader(std::string_view line) : rest_(line) { ok_ = Eat('['); }

  int64_t Number(int64_t low, int64_t high) {
    Next();
    int64_t value = low;
    const char* end = rest_.data() + rest_.size();
    const auto [at, error] = std::from_chars(rest_.data(), end, value);
    if (error != std::errc() || value < low || value > high) {
      ok_ = false;
      return low;
    }
    rest_.remove_prefix(static_cast<size_t>(at - rest_.data()));
    return value;
  }
  void Text(std::string* out) {
    Next();
    if (!Eat('"')) return;
    const size_t end = rest_.find_first_of("\"\\");
    if (end != rest_.npos && rest_[end] == '"') {
      out->assign(rest_.substr(0, end));
      rest_.remove_prefix(end + 1);
      return;
    }
    EscapedText(out);
  }
  std::optional<WallTime> Time() {
    const int64_t ms = Number(-1, INT64_MAX);
    return ms < 0 ? std::nullopt : std::optional(WallTime{ms});
  }
  double Float() {
    std::string text;
    Text(&text);
    const auto value = metrics::ParseNumber(text);
    if (!value) ok_ = false;
    return value.value_or(0);
  }
  template <typename E>
  E Enum() {
    std::string name;
    Text(&name);
    const auto value = ParseName<E>(name);
    if (!value) ok_ = false;
    return value.value_or(E{});
  }
  // Nothing is left: lines of an older stoker have fewer entries.
  bool AtEnd() const { return ok_ && rest_ == "]"; }
  // All that was asked for was there, and the array ends.
  bool Done() const {
    return ok_ && !rest_.empty() && rest_.back() == ']' && (rest_.size() == 1 || rest_[0] == ',');
  }

 private:
  bool Eat(char c) {
    if (!ok_ || rest_.empty() || rest_[0] != c) return ok_ = false;
    rest_.remove_prefix(1);
    return true;
  }
  void Next() {
    if (first_)
      first_ = false;
    else
      (void)Eat(',');
  }
  void EscapedText(std::string* out) {
    out->clear();
    while (!rest_.empty()) {
      const char c = rest_[0];
      rest_.remove_prefix(1);
      if (c == '"') return;
      if (c == '\\') {
        if (rest_.empty() || (rest_[0] != '"' && rest_[0] != '\\')) break;
        *out += rest_[0];
        rest_.remove_prefix(1);
      } else {
        *out += c;
      }
    }
    ok_ = false;
  }

  std::string_view rest_;
  bool ok_ = true;
  bool first_ = true;
};

std::string Short(const std::string& text) { return CutText(Printable(text), kMaxText); }

std::string Remark(const Attempt& last) {
  std::string text;
  if (last.unkept > 0) {
    text = last.unkept_in.empty() ? "what is not kept is gone"
                                  : "what is not kept lies in " + last.unkept_in;
  }
  if (!last.missing_outputs.empty()) {
    text += (text.empty() ? "" : "; ") +
            ("declared and never came: " + Join(last.missing_outputs, ", "));
  }
  if (!last.trouble.empty()) text += (text.empty() ? "" : "; ") + last.trouble;
  return Short(text);
}

std::string Footer(std::string_view lines, size_t count) {
  return "{\"format\":" + std::to_string(kSegmentFormat) + ",\"lines\":" + std::to_string(count) +
         ",\"sha256\":\"" + Sha256Hex(lines) + "\"}\n";
}

}  // namespace

bool SummaryMetric::operator==(const SummaryMetric& other) const {
  const auto same = [](double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); };
  return name == other.name && same(last, other.last) && last_step == other.last_step &&
         same(min, other.min) && same(max, other.max);
}

namespace {

// Of the newest attempt that has begun there, else the newest of all: a move may come to nothing.
const Request* NewestBegun(const Job& job) {
  for (auto attempt = job.attempts.rbegin(); attempt != job.attempts.rend(); ++attempt) {
    const bool begun = attempt->state != AttemptState::kProvisioning && !attempt->not_needed;
    if (!begun || attempt->launches.empty()) continue;
    const Launch* launch = FindLaunch(job, attempt->launches.back());
    if (launch != nullptr) return &RequestOf(job, *launch);
  }
  return job.requests.empty() ? nullptr : &job.requests.back();
}

}  // namespace

Summary SummaryOf(const Job& job) {
  Summary summary;
  summary.id = job.id;
  summary.rev = job.rev;
  summary.name = Short(job.name);
  summary.user = Short(job.user);
  summary.host = Short(job.host);
  summary.state = job.state;
  summary.num_nodes = job.num_nodes;
  const Attempt* newest = NewestNeeded(job);
  summary.attempts = newest != nullptr ? newest->number : 0;
  if (const Request* there = NewestBegun(job)) summary.provider = Short(there->ask.place.provider);
  summary.created = job.created;
  summary.ended = job.ended;
  summary.retry_of = job.retry_of;
  if (IsFinal(job.state) && newest != nullptr) {
    summary.remark = Remark(*newest);
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
  return line.Take();
}

std::optional<Summary> DecodeSummary(std::string_view text) {
  LineReader line(text);
  Summary s;
  line.Text(&s.id);
  s.rev = line.Number(0, INT64_MAX);
  line.Text(&s.name);
  line.Text(&s.user);
  s.state = line.Enum<JobState>();
  s.num_nodes = static_cast<int>(line.Number(1, INT32_MAX));
  s.attempts = static_cast<int>(line.Number(0, INT32_MAX));
  line.Text(&s.provider);
  s.created.ms = line.Number(INT64_MIN, INT64_MAX);
  s.started = line.Time();
  s.ended = line.Time();
  s.run_ms = line.Number(INT64_MIN, INT64_MAX);
  s.reason = line.Enum<EndReason>();
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
    metric.last = line.Float();
    metric.last_step = line.Number(INT64_MIN, INT64_MAX);
    metric.min = line.Float();
    metric.max = line.Float();
  }
  if (!line.AtEnd()) line.Text(&s.why);
  if (!line.Done() || !IsSafeName(s.id)) return std::nullopt;
  return s;
}

std::string EncodeSegment(const std::vector<Summary>& summaries) {
  std::string text;
  text.reserve(summaries.size() * 256 + 128);
  for (const Summary& summary : summaries) text += EncodeSummary(summary) + "\n";
  return text + Footer(text, summaries.size());
}

Status DecodeSegment(const std::string& key, std::string_view text, std::vector<Summary>* out) {
  const Status corrupt(Code::kCorrupt, key + ": damaged");
  if (text.empty() || text.back() != '\n') return corrupt;
  const size_t end = text.rfind('\n', text.size() - 2);
  const size_t body = end == text.npos ? 0 : end + 1;
  const std::string_view lines = text.substr(0, body);
  const std::string_view footer = text.substr(body);
  constexpr std::string_view kStart = "{\"format\":";
  int format = 0;
  if (!StartsWith(footer, kStart)) return corrupt;
  (void)std::from_chars(footer.data() + kStart.size(), footer.data() + footer.size(), format);
  if (format > kSegmentFormat) {
    return Status(Code::kTooNew, key + ": was written by a newer stoker",
                  "Update stoker on this machine");
  }
  const auto count = static_cast<size_t>(std::count(lines.begin(), lines.end(), '\n'));
  if (footer != Footer(lines, count)) return corrupt;
  out->reserve(out->size() + count);
  size_t wrong = 0;
  for (size_t at = 0; at < lines.size();) {
    const size_t stop = lines.find('\n', at);
    auto summary = DecodeSummary(lines.substr(at, stop - at));
    if (summary)
      out->push_back(std::move(*summary));
    else
      ++wrong;
    at = stop + 1;
  }
  if (wrong == 0) return Status::Ok();
  return Status(Code::kCorrupt, key + ": " + std::to_string(wrong) + " of " +
                                    std::to_string(count) + " lines cannot be read");
}

}  // namespace stoker

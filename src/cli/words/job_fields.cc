// SPDX-License-Identifier: Apache-2.0
#include "cli/words/job_fields.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "ledger/index.h"
#include "metrics/numbers.h"
#include "view/job_row.h"
#include "view/metrics.h"

namespace stoker::cli {
namespace {

constexpr const char* kFacts[] = {"id",        "name", "state",    "status",  "reason",
                                  "user",      "host", "where",    "attempt", "nodes",
                                  "exit_code", "age",  "duration", "ran",     "command",
                                  "tag",       "tags", "note",     "type",    "instance"};

FieldValue Number(double value) { return {ShortNumber(value), value}; }

FieldValue Seconds(Duration length) {
  return {HumanDuration(std::max(Duration{}, length)), length.seconds()};
}

std::optional<FieldValue> Fact(const Summary& job, const std::string& name, WallTime now) {
  if (name == "id") return FieldValue{job.id, {}};
  if (name == "name") return FieldValue{job.name, {}};
  // As --json has it, and as the table does.
  if (name == "state" || name == "status") return FieldValue{std::string(Name(job.state)), {}};
  if (name == "reason") return FieldValue{std::string(Name(job.reason)), {}};
  if (name == "user") return FieldValue{job.user, {}};
  if (name == "host") return FieldValue{job.host, {}};
  if (name == "where") return FieldValue{WhereText(job), {}};
  if (name == "type") return FieldValue{job.type, {}};
  if (name == "instance") return FieldValue{job.instance, {}};
  if (name == "command") return FieldValue{job.command, {}};
  if (name == "note" && NoteOf(job).empty()) return std::nullopt;
  if (name == "note") return FieldValue{NoteOf(job), {}};
  if (name == "tag" || name == "tags") {
    if (TagsOf(job).empty()) return std::nullopt;
    return FieldValue{Join(TagsOf(job), " "), {}, TagsOf(job)};
  }
  if (name == "attempt") return Number(job.attempts);
  if (name == "nodes") return Number(job.num_nodes);
  if (name == "exit_code") return Number(job.exit_code);
  if (name == "age") return Seconds(now - job.created);
  if (name == "duration") return Seconds((job.ended ? *job.ended : now) - job.created);
  if (name == "ran") return Seconds(Duration::Ms(job.run_ms));
  return std::nullopt;
}

Status WhereError(const std::string& text, size_t at, const std::string& expected) {
  return Status(
      Code::kUsage,
      "--where '" + Printable(text) + "', column " + std::to_string(at + 1) + ": " + expected,
      "Write terms as --where 'lr<0.1 and state=Succeeded'");
}

// Reads one condition from left to right.
class WhereReader {
 public:
  explicit WhereReader(const std::string& text) : text_(text) {}

  Result<std::vector<WhereTerm>> Read() {
    std::vector<WhereTerm> terms;
    for (;;) {
      WhereTerm term;
      term.name = Word("=!<>");
      if (term.name.empty()) return WhereError(text_, at_, "a name is expected");
      Skip();
      const std::string_view rest = std::string_view(text_).substr(at_);
      for (const std::string_view op : {"<=", ">=", "!=", "==", "=", "<", ">"}) {
        if (term.op.empty() && StartsWith(rest, op)) term.op = op;
      }
      if (term.op.empty()) return WhereError(text_, at_, "one of = != < <= > >= is expected");
      at_ += term.op.size();
      if (term.op == "==") term.op = "=";
      Skip();
      if (at_ == text_.size()) return WhereError(text_, at_, "a value is expected");
      STOKER_ASSIGN(term.value.text, Value());
      term.value.number = metrics::ParseNumber(term.value.text);
      if (const auto length = ParseDuration(term.value.text); !term.value.number && length.ok()) {
        term.value.number = length->seconds();
      }
      terms.push_back(std::move(term));
      Skip();
      if (at_ == text_.size()) return terms;
      const size_t before = at_;
      if (Word("") != "and") return WhereError(text_, before, "'and' or the end is expected");
    }
  }

 private:
  void Skip() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  std::string Word(std::string_view stops) {
    Skip();
    const size_t begin = at_;
    while (at_ < text_.size() && text_[at_] != ' ' && stops.find(text_[at_]) == stops.npos) ++at_;
    return text_.substr(begin, at_ - begin);
  }
  Result<std::string> Value() {
    const char quote = text_[at_];
    if (quote != '"' && quote != '\'') return Word("");
    const size_t end = text_.find(quote, at_ + 1);
    if (end == text_.npos) return WhereError(text_, at_, "this quote is never closed");
    const std::string word = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return word;
  }

  const std::string& text_;
  size_t at_ = 0;
};

}  // namespace

bool JobFields::IsFact(const std::string& name) {
  return std::find(std::begin(kFacts), std::end(kFacts), name) != std::end(kFacts);
}

std::optional<FieldValue> JobFields::Metric(const Summary& job, const std::string& name) const {
  std::string bare = name;
  char which = 'l';
  for (const std::string_view kind : {"min.", "max.", "last."}) {
    if (!StartsWith(name, kind)) continue;
    bare = name.substr(kind.size());
    which = kind[1] == 'i' ? 'i' : kind[1] == 'a' && kind[0] == 'm' ? 'a' : 'l';
  }
  for (const SummaryMetric& metric : job.metrics) {
    if (metric.name == name) return Number(metric.last);
    if (metric.name != bare || bare == name) continue;
    return Number(which == 'i' ? metric.min : which == 'a' ? metric.max : metric.last);
  }
  return std::nullopt;
}

void JobFields::Mean(const std::string& name, const std::vector<Summary>& jobs) {
  if (std::any_of(jobs.begin(), jobs.end(),
                  [&](const Summary& job) { return Metric(job, name).has_value(); })) {
    metrics_.insert(name);
  }
}

std::optional<FieldValue> JobFields::Get(const Summary& job, const std::string& name) {
  if (IsFact(name)) return Fact(job, name, now_);
  if (StartsWith(name, "hp.")) return Hyperparameter(job, name.substr(3));
  if (auto metric = Metric(job, name)) return metric;
  if (metrics_.contains(name)) return std::nullopt;
  return Hyperparameter(job, name);
}

std::optional<FieldValue> JobFields::Hyperparameter(const Summary& job, const std::string& name) {
  const auto [found, fresh] = known_.try_emplace(job.id);
  if (fresh) found->second = ReadHyperparameters(ledger_, job.id);
  if (!found->second) return std::nullopt;
  const auto in = [&](const auto& all) -> std::optional<FieldValue> {
    for (const auto& [key, value] : all) {
      if (key == name) return FieldValue{value, metrics::ParseNumber(value)};
    }
    return std::nullopt;
  };
  if (auto value = in(*found->second)) return value;
  if (!job.started) return std::nullopt;
  // Rarely: what the program alone has said.
  const auto [said, first] = said_.try_emplace(job.id);
  if (first) {
    const auto totals = ReadMetricTotals(ledger_.store(), job.id);
    if (totals.ok()) said->second = stoker::HyperparametersOf(nullptr, totals->hyperparameters);
  }
  return in(said->second);
}

Result<std::vector<WhereTerm>> ParseWhere(const std::string& text) {
  return WhereReader(text).Read();
}

bool Holds(const WhereTerm& term, const std::optional<FieldValue>& value) {
  // Of several at once: it has that one, or it has not.
  const bool tag = term.name == "tag" || term.name == "tags";
  if (tag && (term.op == "=" || term.op == "!=")) {
    const auto& all = value ? value->each : std::vector<std::string>();
    const bool has = std::find(all.begin(), all.end(), term.value.text) != all.end();
    return has == (term.op == "=");
  }
  if (!value) return false;
  if (term.value.number && value->number) {
    const double a = *value->number;
    const double b = *term.value.number;
    if (term.op == "=") return a == b || (std::isnan(a) && std::isnan(b));
    if (term.op == "!=") return a != b && !(std::isnan(a) && std::isnan(b));
    return term.op == "<" ? a < b : term.op == "<=" ? a <= b : term.op == ">" ? a > b : a >= b;
  }
  const int order = value->text.compare(term.value.text);
  if (term.op == "=") return order == 0;
  if (term.op == "!=") return order != 0;
  return term.op == "<"    ? order < 0
         : term.op == "<=" ? order <= 0
         : term.op == ">"  ? order > 0
                           : order >= 0;
}

void SortBy(std::vector<Summary>* jobs, const std::string& name, bool down, JobFields& fields) {
  std::vector<std::pair<std::optional<FieldValue>, size_t>> keys;
  for (size_t i = 0; i < jobs->size(); ++i) keys.emplace_back(fields.Get((*jobs)[i], name), i);
  const auto rank = [](const std::optional<FieldValue>& value) {
    if (!value) return 3;
    if (!value->number) return 2;
    return std::isnan(*value->number) ? 1 : 0;
  };
  std::stable_sort(keys.begin(), keys.end(), [&](const auto& a, const auto& b) {
    if (rank(a.first) != rank(b.first)) return rank(a.first) < rank(b.first);
    if (rank(a.first) == 0) {
      return down ? *a.first->number > *b.first->number : *a.first->number < *b.first->number;
    }
    if (rank(a.first) != 2) return false;
    return down ? a.first->text > b.first->text : a.first->text < b.first->text;
  });
  std::vector<Summary> sorted;
  sorted.reserve(jobs->size());
  for (const auto& [value, at] : keys) sorted.push_back(std::move((*jobs)[at]));
  jobs->swap(sorted);
}

}  // namespace stoker::cli

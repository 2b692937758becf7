// SPDX-License-Identifier: Apache-2.0
// The grammar of rules, by descent: each function reads one part of it.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <vector>

#include "base/text.h"
#include "base/utf8.h"
#include "metrics/numbers.h"
#include "metrics/rules/rule.h"

namespace stoker::metrics {
namespace {

constexpr int64_t kMostCount = int64_t{1} << 53;
constexpr std::string_view kGradients = "gradients";

struct Word {
  std::string text;
  size_t column = 1;
  bool quoted = false;
};

struct Unit {
  std::string_view one, many;
  Span::Unit unit;
  int64_t times;
};
constexpr std::array<Unit, 5> kUnits = {{{"step", "steps", Span::Unit::kSteps, 1},
                                         {"point", "points", Span::Unit::kPoints, 1},
                                         {"second", "seconds", Span::Unit::kTime, 1000},
                                         {"minute", "minutes", Span::Unit::kTime, 60'000},
                                         {"hour", "hours", Span::Unit::kTime, 3'600'000}}};

class Sentence {
 public:
  explicit Sentence(std::string_view text) { Split(text); }

  ParsedRule Parse() {
    ParsedRule out;
    if (error_.message.empty()) ReadRule();
    if (error_.message.empty() && !AtEnd()) Expected("the end of the rule");
    if (!error_.message.empty()) return error_;
    out.rule = rule_;
    return out;
  }

 private:
  bool AtEnd() const { return at_ == words_.size(); }
  bool Failed() const { return !error_.message.empty(); }
  const Word* Next() const { return AtEnd() ? nullptr : &words_[at_]; }

  void Fail(size_t column, std::string message, std::string hint) {
    if (Failed()) return;
    error_.column = column;
    error_.message = std::move(message);
    error_.hint = std::move(hint);
  }

  // `what` ought to come here.
  void Expected(const std::string& what, std::string hint = "") {
    const Word* next = Next();
    const std::string after = at_ == 0 ? "" : " after '" + Printable(words_[at_ - 1].text) + "'";
    Fail(next != nullptr ? next->column : end_,
         what + " is expected" + after + ", not " +
             (next == nullptr ? "the end" : "'" + Printable(CutText(next->text, 60)) + "'"),
         std::move(hint));
  }

  // Words lie between blanks. One that begins with a quote goes on to the next such quote.
  void Split(std::string_view text) {
    if (text.size() > kMaxRuleText) {
      return Fail(1, fmt::format("the rule has more than {} bytes", kMaxRuleText), "Shorten it");
    }
    if (!IsUtf8(text) || Printable(text) != text) {
      return Fail(1, "the rule holds what is no text", "Write it on one line");
    }
    size_t column = 1;
    for (size_t at = 0; at < text.size();) {
      const auto take = [&] {
        // Bytes behind the first of a character do not count.
        if ((static_cast<unsigned char>(text[at]) & 0xC0) != 0x80) ++column;
        return text[at++];
      };
      if (text[at] == ' ' || text[at] == '\t') {
        take();
        continue;
      }
      Word word;
      word.column = column;
      if (text[at] == '\'' || text[at] == '"') {
        const char quote = take();
        word.quoted = true;
        while (at < text.size() && text[at] != quote) word.text += take();
        if (at == text.size()) return Fail(word.column, "a quote that is not closed", "Close it");
        take();
        if (at < text.size() && text[at] != ' ' && text[at] != '\t') {
          return Fail(column, "a quote ends within a word", "Quote the whole name");
        }
      } else {
        while (at < text.size() && text[at] != ' ' && text[at] != '\t') word.text += take();
      }
      words_.push_back(std::move(word));
    }
    end_ = column;
  }

  bool Takes(std::string_view word) {
    const Word* next = Next();
    if (next == nullptr || next->quoted || next->text != word) return false;
    ++at_;
    return true;
  }

  // These words, one after another.
  void Needs(std::initializer_list<std::string_view> words) {
    for (const std::string_view word : words) {
      if (Failed()) return;
      if (!Takes(word)) return Expected("'" + std::string(word) + "'");
    }
  }

  double Number(const std::string& what) {
    const Word* next = Next();
    const auto value = next != nullptr ? ParseNumber(next->text) : std::nullopt;
    if (!value || !std::isfinite(*value)) {
      Expected(what, "Write a number such as 0.5 or 1e-3");
      return 0;
    }
    ++at_;
    return *value;
  }

  int64_t Count(const std::string& what, int64_t least) {
    const Word* next = Next();
    const auto value = next != nullptr ? WholeNumber(next->text, least, kMostCount) : std::nullopt;
    if (!value) {
      Expected(what, fmt::format("Write a whole number of at least {}", least));
      return 0;
    }
    ++at_;
    return *value;
  }

  void ReadSpan() {
    const int64_t count = Count("a number of steps, points, seconds, minutes or hours", 1);
    for (const Unit& unit : kUnits) {
      if (Failed() || (!Takes(unit.one) && !Takes(unit.many))) continue;
      if (count > kMostCount / unit.times) {
        return Fail(words_[at_ - 2].column, "so long a time cannot be counted", "Write less");
      }
      rule_.span = {unit.unit, count * unit.times};
      return;
    }
    if (!Failed()) Expected("'steps', 'points', 'seconds', 'minutes' or 'hours'");
  }

  void ReadIs() {
    if (Takes("not")) {
      rule_.kind = Rule::Kind::kNotFinite;
      return Needs({"finite"});
    }
    rule_.up = Takes("above");
    if (!rule_.up && !Takes("below")) return Expected("'not finite', 'above' or 'below'");
    if (Takes("the")) {
      rule_.kind = Rule::Kind::kMedian;
      Needs({"median", "of", "runs", "of", "this", "name"});
    } else {
      rule_.kind = Rule::Kind::kLimit;
      rule_.value = Number("a number, or 'the median of runs of this name',");
    }
    if (Failed() || AtEnd()) return;
    Needs({"after", "step"});
    if (!Failed()) rule_.after = Count("the number of a step", 0);
  }

  void ReadDoes() {
    Needs({"not"});
    if (Failed()) return;
    rule_.up = Takes("rise");
    if (!rule_.up && !Takes("fall")) return Expected("'fall' or 'rise'");
    if (Takes("by")) {
      Needs({"more", "than"});
      if (Failed()) return;
      rule_.value = Number("a number");
      if (!Failed() && rule_.value < 0) {
        --at_;
        Expected("a number that is not less than 0");
      }
    }
    if (Failed()) return;
    if (Takes("in")) {
      rule_.kind = Rule::Kind::kFirst;
      Needs({"the", "first"});
    } else if (Takes("for")) {
      rule_.kind = Rule::Kind::kStale;
    } else {
      return Expected(rule_.value > 0 ? "'for' or 'in the first'"
                                      : "'by more than', 'for' or 'in the first'");
    }
    if (!Failed()) ReadSpan();
  }

  void ReadGrows() {
    rule_.kind = Rule::Kind::kGrows;
    rule_.value = Number("a number");
    if (!Failed() && rule_.value <= 1) {
      --at_;
      return Expected("a number above 1");
    }
    if (!Failed()) Needs({"times", "over", "its", "minimum"});
  }

  void ReadRule() {
    const Word* metric = Next();
    if (metric == nullptr || metric->text.empty()) {
      return Expected("the name of a metric", "Write a rule such as 'loss is not finite'");
    }
    const bool gradients = !metric->quoted && metric->text == kGradients;
    rule_.metric = metric->text;
    ++at_;
    if (gradients && (Takes("vanish") || Takes("explode"))) {
      rule_.metric.clear();
      rule_.kind = words_[1].text == "vanish" ? Rule::Kind::kVanish : Rule::Kind::kExplode;
    } else if (Takes("vanishes")) {
      rule_.kind = Rule::Kind::kVanish;
    } else if (Takes("explodes")) {
      rule_.kind = Rule::Kind::kExplode;
    } else if (Takes("is")) {
      ReadIs();
    } else if (Takes("does")) {
      ReadDoes();
    } else if (Takes("grows")) {
      ReadGrows();
    } else {
      Expected("'is', 'does not', 'grows', 'vanishes' or 'explodes'",
               "A name with blanks stands in quotes: \"train loss\" is not finite");
    }
  }

  std::vector<Word> words_;
  size_t at_ = 0;
  size_t end_ = 1;  // the column behind the last character
  Rule rule_;
  ParsedRule error_;
};

std::string SpanText(const Span& span) {
  const Unit* unit = &kUnits[span.unit == Span::Unit::kSteps ? 0 : 1];
  if (span.unit == Span::Unit::kTime) {
    unit = &kUnits[2];
    for (const Unit& larger : kUnits) {
      if (larger.unit == Span::Unit::kTime && span.count % larger.times == 0) unit = &larger;
    }
  }
  const int64_t count = span.count / unit->times;
  return fmt::format("{} {}", count, count == 1 ? unit->one : unit->many);
}

std::string MetricText(const std::string& metric) {
  const bool quote_first = !metric.empty() && (metric[0] == '\'' || metric[0] == '"');
  const bool plain = metric.find_first_of(" \t") == metric.npos && !quote_first;
  if (plain && metric != kGradients) return metric;
  const char quote = metric.find('\'') == metric.npos ? '\'' : '"';
  return quote + metric + quote;
}

// As a shell matches * and ?, but for slashes, which are like any other. Time: pattern × text.
bool Matches(std::string_view pattern, std::string_view text) {
  size_t p = 0;
  size_t star = pattern.npos;
  size_t from = 0;  // where the last star began to match
  for (size_t t = 0; t < text.size();) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      from = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != pattern.npos) {
      p = star + 1;
      t = ++from;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

// Hugging Face's Trainer logs "train/grad_norm", Lightning's grad_norm "grad_2.0_norm_total".
bool IsGradientNorm(std::string_view series) {
  const size_t grad = series.find("grad");
  return grad != series.npos && series.find("norm", grad) != series.npos;
}

}  // namespace

bool Rule::IsAbout(std::string_view series) const {
  return metric.empty() ? IsGradientNorm(series) : metric == series || Matches(metric, series);
}

ParsedRule ParseRule(std::string_view text) { return Sentence(text).Parse(); }

std::string RuleText(const Rule& rule) {
  const std::string metric = MetricText(rule.metric);
  const bool gradients = rule.metric.empty();
  const std::string after = rule.after ? fmt::format(" after step {}", *rule.after) : "";
  const std::string_view side = rule.up ? "above" : "below";
  const auto by = [&] { return rule.value > 0 ? fmt::format(" by more than {}", rule.value) : ""; };
  switch (rule.kind) {
    case Rule::Kind::kNotFinite:
      return metric + " is not finite";
    case Rule::Kind::kLimit:
      return fmt::format("{} is {} {}{}", metric, side, rule.value, after);
    case Rule::Kind::kMedian:
      return fmt::format("{} is {} the median of runs of this name{}", metric, side, after);
    case Rule::Kind::kStale:
    case Rule::Kind::kFirst:
      return fmt::format("{} does not {}{} {} {}", metric, rule.up ? "rise" : "fall", by(),
                         rule.kind == Rule::Kind::kStale ? "for" : "in the first",
                         SpanText(rule.span));
    case Rule::Kind::kGrows:
      return fmt::format("{} grows {} times over its minimum", metric, rule.value);
    case Rule::Kind::kVanish:
      return gradients ? "gradients vanish" : metric + " vanishes";
    case Rule::Kind::kExplode:
      return gradients ? "gradients explode" : metric + " explodes";
  }
  return "";
}

}  // namespace stoker::metrics

// SPDX-License-Identifier: Apache-2.0
#include "metrics/line_rows.h"

#include <algorithm>
#include <cmath>

#include "base/letter_case.h"
#include "base/text.h"
#include "metrics/log_words.h"

namespace stoker::metrics {
namespace {

constexpr size_t kMostWords = 4;
constexpr size_t kMostHeading = 3;
constexpr uint32_t kCounts = kEpochWord | kStepWord | kBatchWord;
constexpr uint32_t kPhase = kTrainWord | kHeldWord;

// "12", "0012" and, where `grouped`, "1,532".
std::optional<int64_t> CountIn(const Token& token, bool grouped = false) {
  const bool comma = token.text.find(',') != std::string_view::npos;
  if (grouped && comma && token.kind == Token::Kind::kNumber && !token.percent &&
      token.text.find('.') == std::string_view::npos && token.value >= 0 && token.value < 1e15) {
    return static_cast<int64_t>(token.value);
  }
  if (token.kind != Token::Kind::kNumber || token.percent || token.text.size() > 15) {
    return std::nullopt;
  }
  return WholeNumber(
      token.text.substr(std::min(token.text.find_first_not_of('0'), token.text.size() - 1)), 0,
      int64_t{1} << 50);
}

bool IsLink(std::string_view word) { return word == "and" || word == "with"; }

bool Begins(std::string_view word) {
  static constexpr std::string_view kWords[] = {"start",     "starting", "started", "begin",
                                                "beginning", "running",  "now",     "entering"};
  const std::string low = LowerCase(word);
  return std::find(std::begin(kWords), std::end(kWords), low) != std::end(kWords);
}

// A file and its line, not a name: "train.py:45".
bool NamesFile(std::string_view name) {
  static constexpr std::string_view kEnds[] = {".py",   ".cc", ".cpp", ".cu",   ".c",
                                               ".h",    ".rs", ".go",  ".js",   ".ts",
                                               ".java", ".jl", ".sh",  ".ipynb"};
  if (name.find('.') == name.npos) return false;
  return std::any_of(std::begin(kEnds), std::end(kEnds),
                     [&](std::string_view end) { return EndsWith(name, end); });
}

}  // namespace

// No part is above its whole: with the day first, the month is the whole, and both are small.
bool MayBeDate(const Place& place) {
  return place.part >= 1 && place.part <= 12 && place.whole >= 2 && place.whole <= 31;
}

void LineReader::Use(size_t from, size_t to) {
  for (size_t i = from; i < to && i < used_.size(); ++i) used_[i] = 1;
}

bool LineReader::Read(std::string_view line, LineRow* row) {
  *row = LineRow();
  if (!SplitLine(line, &tokens_)) return false;
  used_.assign(tokens_.size(), 0);
  first_ = tokens_.size();
  square_.reset();
  row->bar = line.find("%|") != line.npos || line.find("it/s") != line.npos ||
             line.find("s/it") != line.npos;
  for (size_t i = 0; i < tokens_.size(); ++i) {
    if (used_[i] != 0) continue;
    const Kind kind = tokens_[i].kind;
    if (kind == Kind::kWord) {
      if ((tokens_[i].flags & kPhase) != 0 && row->values.empty()) row->phase = tokens_[i].text;
      if (row->values.empty()) TakeRank(i, row);
    } else if (kind == Kind::kNumber || kind == Kind::kRatio) {
      if (TakeCount(i, row) || (kind == Kind::kRatio && TakePlace(i, row))) continue;
      TakeBare(i, row);
      TakeValue(i, row);
    }
  }
  Judge(row);
  return true;
}

// "epoch 3", "Epoch: [3/20]", "Epoch(train) [1]", "step=7", "iteration 100/500000", "rank 1".
bool LineReader::TakeCount(size_t at, LineRow* row) {
  size_t q = at;
  const auto back = [&](Kind kind) { return q > 0 && Is(q - 1, kind) ? (--q, true) : false; };
  const bool square = back(Kind::kOpenSquare);
  if (!square && !back(Kind::kOpen)) back(Kind::kQuote);
  if (back(Kind::kSep)) back(Kind::kQuote);
  if (q >= 3 && Is(q - 1, Kind::kClose) && Has(q - 2, kPhase) && Is(q - 3, Kind::kOpen)) q -= 3;
  if (q == 0) return false;
  const size_t word = q - 1;
  const bool ratio = Is(at, Kind::kRatio);
  // "[1,234]" may be two.
  const auto whole = ratio ? std::optional(tokens_[at].part) : CountIn(tokens_[at], !square);
  if (!whole || !Is(word, Kind::kWord)) return false;
  if (Has(word, kRankWord | kFoldWord)) {
    if (Has(word, kRankWord)) row->rank = *whole;
    if (Has(word, kFoldWord)) row->fold = *whole;
    Use(word, at + 1);
    return true;
  }
  // timm's "Train: 0 [ 640/60000": the epoch has no name there.
  const bool unnamed = Has(word, kPhase) && !ratio && !square && Is(at + 1, Kind::kOpenSquare) &&
                       Is(at + 2, Kind::kRatio);
  if (!Has(word, kCounts) && !unnamed) return false;
  if (word > 0 && Has(word - 1, kLimitWord) && !tokens_[word].wide) return false;
  if (unnamed || Has(word, kEpochWord)) {
    if (!row->epoch) row->epoch = whole;
  } else if (ratio) {
    if (!row->place) {
      row->place = {tokens_[at].part, tokens_[at].whole};
      row->named = Has(word, kStepWord);
    }
  } else if (Has(word, kBatchWord)) {
    row->batch = true;
  } else if (!row->step) {
    row->step = whole;
  }
  Use(word, at + 1);
  return true;
}

// "[rank1]" and torchrun's "[default1]:".
void LineReader::TakeRank(size_t at, LineRow* row) {
  for (const std::string_view before : {"rank", "Rank", "RANK", "default"}) {
    const std::string_view text = tokens_[at].text;
    if (text.size() == before.size() || !StartsWith(text, before)) continue;
    const auto rank = WholeNumber(text.substr(before.size()), 0, 1'000'000);
    if (rank && (Is(at + 1, Kind::kCloseSquare) || Is(at + 1, Kind::kSep))) row->rank = *rank;
  }
}

// A bare "640/60000": not that of a date, nor one of several parts.
bool LineReader::TakePlace(size_t at, LineRow* row) {
  const Token& token = tokens_[at];
  if (row->place || token.whole <= 0 || token.part > token.whole) return false;
  if (Is(at + 1, Kind::kJunk) && tokens_[at + 1].text.find(':') != std::string_view::npos) {
    return false;
  }
  size_t before = at;
  if (before > 0 && (Is(before - 1, Kind::kOpenSquare) || Is(before - 1, Kind::kOpen))) --before;
  if (before > 0) {
    const size_t p = before - 1;
    const bool value = Is(p, Kind::kSep) && p > 0 && !Is(p - 1, Kind::kNumber) &&
                       !Is(p - 1, Kind::kRatio) && !Has(p - 1, kPhase | kLevelWord);
    const bool word = Is(p, Kind::kWord) && !Has(p, kPhase | kLevelWord | kCounts) &&
                      (before == at ? !tokens_[at].wide : Has(p, kOtherWord | kUnitWord));
    if (value || word) return false;
  }
  row->place = {token.part, token.whole};
  row->leads = before == 0;
  Use(at, at + 1);
  return true;
}

// "[12]" just before the first name, and CatBoost's "12:" at the beginning, count rounds.
void LineReader::TakeBare(size_t at, LineRow* row) {
  if (!CountIn(tokens_[at])) return;
  if (at > 0 && Is(at - 1, Kind::kOpenSquare) && Is(at + 1, Kind::kCloseSquare)) square_ = at;
  if (at == 0 && !row->step && Is(1, Kind::kSep) && tokens_[1].text == ":" && tokens_.size() > 2 &&
      tokens_[2].wide && Is(2, Kind::kWord)) {
    row->step = CountIn(tokens_[0]);
    Use(0, 2);
  }
}

void LineReader::TakeValue(size_t at, LineRow* row) {
  size_t end = at;  // of the name
  if (end > 1 && !tokens_[at].gap && Is(end - 1, Kind::kQuote) && Is(end - 2, Kind::kSep)) --end;
  const bool signed_name = end > 0 && Is(end - 1, Kind::kSep);
  if (signed_name) --end;
  const bool quoted = signed_name && end > 0 && Is(end - 1, Kind::kQuote);
  if (quoted) --end;
  size_t begin = end;
  while (begin > 0 && Is(begin - 1, Kind::kWord) && used_[begin - 1] == 0 &&
         (begin == end || quoted || !tokens_[begin].wide)) {
    --begin;
  }
  if (begin == end) return;
  // What a logger, or a sentence, puts before a name.
  while (begin + 1 < end && (Has(begin, kLevelWord) || IsLink(tokens_[begin].text))) ++begin;
  const Token& first = tokens_[begin];
  const Token& last = tokens_[end - 1];
  const std::string_view name(
      first.text.data(),
      static_cast<size_t>(last.text.data() + last.text.size() - first.text.data()));
  const bool result = NamesResult(name);
  Token& number = tokens_[at];
  // "Accuracy: 9913/10000 (99%)".
  const bool part = number.kind == Kind::kRatio && signed_name && Is(at + 1, Kind::kOpen) &&
                    Is(at + 2, Kind::kNumber) && tokens_[at + 2].percent &&
                    Is(at + 3, Kind::kClose);
  const auto behind = part ? std::optional<size_t>(4) : Behind(at, signed_name);
  const bool decimal =
      number.percent || part || number.text.find_first_of(".eEnN") != std::string_view::npos;
  // module:function:line of a logger.
  const bool chain =
      begin > 0 && Is(begin - 1, Kind::kSep) && !first.gap && !number.gap && !decimal;
  if ((number.kind != Kind::kNumber && !part) || number.flags != 0 || !behind || chain ||
      !NameIsGood(begin, end, signed_name) || (!signed_name && !decimal && !result)) {
    if (result && row->refused.empty()) {
      row->refused = std::string_view(
          name.data(), static_cast<size_t>(number.text.data() + number.text.size() - name.data()));
    }
    return;
  }
  const size_t from = begin - (quoted && begin > 0 && Is(begin - 1, Kind::kQuote) ? 1 : 0);
  if (row->values.empty()) first_ = from;
  NamedValue value;
  value.name = name;
  value.value = part ? tokens_[at + 2].value : number.value;
  value.result = result && decimal;
  if (end - begin > 1 && Has(begin, kPhase)) value.phase = first.text;
  row->values.push_back(value);
  Use(from, at + *behind);
}

std::optional<size_t> LineReader::Behind(size_t at, bool signed_name) const {
  size_t next = at + 1;
  if (Is(next, Kind::kQuote)) ++next;
  if (Is(next, Kind::kPlus) && Is(next + 1, Kind::kNumber)) next += 2;
  if (Is(next, Kind::kOpen)) {  // its average, or a remark
    size_t close = next + 1;
    while (close < tokens_.size() && close < next + 6 && !Is(close, Kind::kClose)) ++close;
    if (!Is(close, Kind::kClose)) return std::nullopt;
    next = close + 1;
  }
  if (next >= tokens_.size()) return next - at;
  switch (tokens_[next].kind) {
    case Kind::kNumber:
    case Kind::kRatio:
    case Kind::kSep:
    case Kind::kPlus:
    case Kind::kArrow:
    case Kind::kSlash:
      return std::nullopt;
    case Kind::kWord:
      if (Has(next, kUnitWord)) return std::nullopt;
      if (signed_name ? Has(next, kFillerWord) && !IsLink(tokens_[next].text) : !LeadsOn(next)) {
        return std::nullopt;
      }
      return next - at;
    default:
      return next - at;
  }
}

// Whether the words at `at` are the name of another number, or a count.
bool LineReader::LeadsOn(size_t at) const {
  size_t end = at;
  while (Is(end, Kind::kWord)) ++end;
  size_t begin = at;
  while (begin + 1 < end && IsLink(tokens_[begin].text)) ++begin;
  if (!NameIsGood(begin, end, false)) return Has(at, kCounts | kOtherWord);
  return Is(end, Kind::kNumber) || Is(end, Kind::kRatio) || Is(end, Kind::kSep);
}

bool LineReader::NameIsGood(size_t begin, size_t end, bool signed_name) const {
  if (begin >= end || end - begin > kMostWords) return false;
  if (Has(end - 1, kCounts | kOtherWord | kLevelWord | (signed_name ? 0U : kUnitWord)) ||
      NamesFile(tokens_[end - 1].text)) {
    return false;
  }
  for (size_t i = begin; i < end; ++i) {
    if (!signed_name && Has(i, kFillerWord)) return false;
  }
  // "data_time", "time_per_batch" hold no more than a time does.
  const std::string_view last = tokens_[end - 1].text;
  return !EndsWith(last, "_time") && !EndsWith(last, "_dt");
}

// What counts, and whether anything else is said.
void LineReader::Judge(LineRow* row) const {
  if (square_ && !row->counts() && *square_ + 2 == first_) {
    row->step = CountIn(tokens_[*square_]);
  }
  const bool header = row->epoch && row->values.empty();
  for (size_t i = 0; i < tokens_.size(); ++i) {
    if (used_[i] != 0 || Has(i, kPhase | kLevelWord)) continue;
    const Kind kind = tokens_[i].kind;
    if (header && row->heading && kind == Kind::kWord) row->heading &= Begins(tokens_[i].text);
    if (i > first_) {
      if (kind == Kind::kWord) row->plain &= Has(i, kUnitWord | kOtherWord);
      continue;
    }
    if (kind != Kind::kWord) continue;
    // A heading, as loggers write and "Test set:" is, ends in a sign.
    size_t end = i;
    while (end < first_ && Is(end, Kind::kWord) && used_[end] == 0) ++end;
    const bool sign = end < tokens_.size() && !Is(end, Kind::kNumber) && !Is(end, Kind::kJunk) &&
                      !Is(end, Kind::kRatio);
    row->plain &= end - i <= kMostHeading && sign;
    i = end - 1;
  }
}

}  // namespace stoker::metrics

// SPDX-License-Identifier: Apache-2.0
#include "metrics/text_rows.h"

#include <re2/re2.h>

#include <cmath>

#include "base/json.h"
#include "base/json_depth.h"
#include "base/text.h"

namespace stoker::metrics {
namespace {

constexpr size_t kMaxColumns = 1000;
constexpr int kMaxDepth = 16;

re2::StringPiece Piece(std::string_view text) { return {text.data(), text.size()}; }
std::string_view ViewOf(const re2::StringPiece& piece) { return {piece.data(), piece.size()}; }

// Words that are no JSON, outside of strings, become text that is read as a number again.
std::string WithNansQuoted(std::string_view json) {
  std::string out;
  out.reserve(json.size() + 16);
  bool quoted = false;
  for (size_t i = 0; i < json.size(); ++i) {
    const std::string_view rest = json.substr(i);
    if (!quoted) {
      std::string_view word;
      for (const std::string_view known : {"NaN", "-Infinity", "Infinity"}) {
        if (word.empty() && StartsWith(rest, known)) word = known;
      }
      if (!word.empty()) {
        out += "\"\\u0001" + std::string(word) + "\"";
        i += word.size() - 1;
        continue;
      }
    }
    out += json[i];
    if (quoted && json[i] == '\\' && i + 1 < json.size()) {
      out += json[++i];
    } else if (json[i] == '"') {
      quoted = !quoted;
    }
  }
  return out;
}

std::optional<double> NumberOf(const nlohmann::json& value) {
  if (value.is_number()) return value.get<double>();
  if (!value.is_string()) return std::nullopt;
  const std::string& text = value.get_ref<const std::string&>();
  return text.size() > 1 && text[0] == 1 ? ParseNumber(std::string_view(text).substr(1))
                                         : std::nullopt;
}

void AddObject(const nlohmann::json& object, const std::string& prefix, Row* row) {
  for (const auto& [key, value] : object.items()) {
    if (row->size() >= kMaxColumns) return;
    if (const auto number = NumberOf(value)) row->emplace_back(prefix + key, *number);
    if (value.is_object() && prefix.empty()) AddObject(value, key + "/", row);
  }
}

// Reads the text of a Python dict from left to right.
class DictReader {
 public:
  explicit DictReader(std::string_view text) : rest_(text) {}

  std::optional<Row> Read() {
    Row row;
    if (!Eat('{')) return std::nullopt;
    while (row.size() < kMaxColumns) {
      const auto key = Quoted();
      if (!key || !Eat(':')) return std::nullopt;
      Skip();
      const bool quoted = !rest_.empty() && (rest_[0] == '\'' || rest_[0] == '"');
      const auto word = quoted ? Quoted() : Word();
      if (!word) return std::nullopt;
      if (const auto number = ParseNumber(*word)) row.emplace_back(*key, *number);
      if (Eat('}')) break;
      if (!Eat(',')) return std::nullopt;
    }
    Skip();
    if (!rest_.empty()) return std::nullopt;
    return row;
  }

 private:
  void Skip() {
    while (!rest_.empty() && rest_[0] == ' ') rest_.remove_prefix(1);
  }
  bool Eat(char c) {
    Skip();
    if (rest_.empty() || rest_[0] != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  std::optional<std::string> Quoted() {
    Skip();
    if (rest_.empty() || (rest_[0] != '\'' && rest_[0] != '"')) return std::nullopt;
    const char quote = rest_[0];
    std::string out;
    for (size_t i = 1; i < rest_.size(); ++i) {
      if (rest_[i] == '\\' && i + 1 < rest_.size()) {
        out += rest_[++i];
      } else if (rest_[i] == quote) {
        rest_.remove_prefix(i + 1);
        return out;
      } else {
        out += rest_[i];
      }
    }
    return std::nullopt;
  }
  // A number or True, None, …; what opens another bracket is none.
  std::optional<std::string> Word() {
    const size_t end = rest_.find_first_of(",}");
    if (end == rest_.npos) return std::nullopt;
    const std::string_view word = Bare(rest_.substr(0, end));
    if (word.empty() || word.find_first_of("{[(:") != word.npos) return std::nullopt;
    rest_.remove_prefix(end);
    return std::string(word);
  }

  std::string_view rest_;
};

constexpr char kNumber[] =
    R"(([-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?|(?i:nan|inf(?:inity)?))))";

Row PairsOf(std::string_view text, const re2::RE2& pair) {
  Row row;
  re2::StringPiece rest = Piece(text);
  re2::StringPiece name;
  re2::StringPiece number;
  while (row.size() < kMaxColumns && re2::RE2::FindAndConsume(&rest, pair, &name, &number)) {
    if (const auto value = ParseNumber(ViewOf(number))) row.emplace_back(ViewOf(name), *value);
  }
  return row;
}

}  // namespace

std::optional<Row> ReadJsonRow(std::string_view line) {
  line = Bare(line);
  if (line.size() < 2 || line.front() != '{' || line.back() != '}') return std::nullopt;
  if (line.find('"') == line.npos || NestedDeeper(line, kMaxDepth)) return std::nullopt;
  const auto object = nlohmann::json::parse(WithNansQuoted(line), nullptr, false);
  if (!object.is_object()) return std::nullopt;
  Row row;
  AddObject(object, "", &row);
  return row;
}

std::optional<Row> ReadDictRow(std::string_view line) {
  line = Bare(line);
  if (line.size() < 2 || line.front() != '{' || line.back() != '}') return std::nullopt;
  return DictReader(line).Read();
}

std::optional<Row> ReadKerasRow(std::string_view line) {
  static const re2::RE2 kDone(R"(^\s*(\d+)/(\d+)\s.*?\s-\s)");
  static const re2::RE2 kPair(std::string(R"(\s-\s([A-Za-z_][\w./-]*): )") + kNumber);
  re2::StringPiece done;
  re2::StringPiece all;
  if (!re2::RE2::PartialMatch(Piece(line), kDone, &done, &all) || done != all) return std::nullopt;
  // A pair's end is the next one's beginning, which is consumed with it: so each is looked for at
  // the " - " that is left.
  Row row = PairsOf(line, kPair);
  if (row.empty()) return std::nullopt;
  return row;
}

std::optional<int64_t> ReadKerasEpoch(std::string_view line) {
  static const re2::RE2 kEpoch(R"(^\s*Epoch (\d{1,15})/\d{1,15}\s*$)");
  int64_t epoch = 0;
  if (!re2::RE2::FullMatch(Piece(line), kEpoch, &epoch)) return std::nullopt;
  return epoch;
}

std::optional<CountedRow> ReadCountedRow(std::string_view line) {
  static const re2::RE2 kCount(
      R"((?i)^\W*(?:train\w*\s+|val\w*\s+|test\w*\s+)?)"
      R"((?:global[_ ])?(?:epoch|step|iter(?:ation)?)\s*[:=#\[]?\s*(\d{1,15})\b)");
  static const re2::RE2 kPair(std::string(R"(([A-Za-z_][\w./-]*)\s*[:=]\s*)") + kNumber +
                              R"((?:[^\w.]|\.\s|\.?$))");
  CountedRow counted;
  re2::StringPiece rest = Piece(line);
  if (!re2::RE2::Consume(&rest, kCount, &counted.count)) return std::nullopt;
  counted.row = PairsOf(ViewOf(rest), kPair);
  if (counted.row.empty()) return std::nullopt;
  return counted;
}

std::optional<int64_t> FindStep(std::string_view line) {
  static const re2::RE2 kStep(
      R"((?i)(?:^|[^a-z])(?:global[_ ])?(?:step|iter(?:ation)?)\s*[:=#\[]?\s*(\d{1,15})\b)");
  static const re2::RE2 kEpoch(R"((?i)(?:^|[^a-z])epoch\s*[:=#\[]?\s*(\d{1,15})\b)");
  int64_t step = 0;
  if (re2::RE2::PartialMatch(Piece(line), kStep, &step)) return step;
  if (re2::RE2::PartialMatch(Piece(line), kEpoch, &step)) return step;
  return std::nullopt;
}

std::string WithoutEscapes(std::string_view line) {
  std::string out;
  out.reserve(line.size());
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] != '\x1b') {
      if (line[i] != '\b') out += line[i];
      continue;
    }
    // ECMA-48: ESC [ parameters, then one byte of @ to ~; any other escape is two bytes.
    if (++i >= line.size() || line[i] != '[') continue;
    while (++i < line.size() && (line[i] < '@' || line[i] > '~')) {
    }
  }
  return out;
}

}  // namespace stoker::metrics

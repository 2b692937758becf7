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

void AddObject(const nlohmann::json& object, const std::string& prefix, TextRow* out) {
  for (const auto& [key, value] : object.items()) {
    if (out->row.size() >= kMaxColumns) return;
    const auto number = NumberOf(value);
    if (number) out->row.emplace_back(prefix + key, *number);
    out->alone &= number.has_value();
    if (value.is_object() && prefix.empty()) AddObject(value, key + "/", out);
  }
}

// Reads the text of a Python dict from left to right.
class DictReader {
 public:
  explicit DictReader(std::string_view text) : rest_(text) {}

  std::optional<TextRow> Read() {
    TextRow out;
    if (!Eat('{')) return std::nullopt;
    while (out.row.size() < kMaxColumns) {
      const auto key = Quoted();
      if (!key || !Eat(':')) return std::nullopt;
      Skip();
      const bool quoted = !rest_.empty() && (rest_[0] == '\'' || rest_[0] == '"');
      const auto word = quoted ? Quoted() : Word();
      if (!word) return std::nullopt;
      size_t used = 0;
      auto number = ParseNumber(*word);
      if (!number && !quoted) number = UnwrapNumber(*word, &used);
      if (number) out.row.emplace_back(*key, *number);
      out.alone &= number.has_value();
      if (Eat('}')) break;
      if (!Eat(',')) return std::nullopt;
    }
    Skip();
    if (!rest_.empty()) return std::nullopt;
    return out;
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
  // A number or True, None, …, np.float64(0.5), [1, 2]: up to the comma or bracket behind it.
  std::optional<std::string> Word() {
    int depth = 0;
    size_t end = 0;
    for (; end < rest_.size(); ++end) {
      const char c = rest_[end];
      if (depth == 0 && (c == ',' || c == '}')) break;
      if (c == '(' || c == '[' || c == '{') ++depth;
      if (c == ')' || c == ']' || c == '}') --depth;
    }
    if (end == rest_.size()) return std::nullopt;
    const std::string_view word = Bare(rest_.substr(0, end));
    if (word.empty()) return std::nullopt;
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

std::optional<TextRow> ReadJsonRow(std::string_view line) {
  line = Bare(line);
  if (line.size() < 2 || line.front() != '{' || line.back() != '}') return std::nullopt;
  if (line.find('"') == line.npos || NestedDeeper(line, kMaxDepth)) return std::nullopt;
  const auto object = nlohmann::json::parse(WithNansQuoted(line), nullptr, false);
  if (!object.is_object()) return std::nullopt;
  TextRow out;
  AddObject(object, "", &out);
  return out;
}

std::optional<TextRow> ReadDictRow(std::string_view line) {
  line = Bare(line);
  if (line.size() < 2 || line.front() != '{' || line.back() != '}') return std::nullopt;
  return DictReader(line).Read();
}

bool IsKerasLine(std::string_view line) {
  static const re2::RE2 kLine(
      R"(^\s*\d+/\d+\s+(?:\[[=>.]|\x{2501}|- \d+m?s\b|\d+m?s\b)|^\s*\d+/\d+\s.*(?:/step|ETA:))");
  return re2::RE2::PartialMatch(Piece(line), kLine);
}

std::optional<KerasRow> ReadKerasRow(std::string_view line) {
  static const re2::RE2 kDone(R"(^\s*(\d{1,15})/(\d{1,15})\s.*?\s-\s)");
  static const re2::RE2 kPair(std::string(R"((?:^|\s)-\s([A-Za-z_][\w./-]*): )") + kNumber +
                              R"((?:\s|$))");
  KerasRow out;
  int64_t done = 0;
  if (!re2::RE2::PartialMatch(Piece(line), kDone, &done, &out.steps) || done != out.steps) {
    return std::nullopt;
  }
  // Behind a pair the blank is consumed that the next one's "- " follows.
  out.row = PairsOf(line, kPair);
  if (out.row.empty()) return std::nullopt;
  return out;
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

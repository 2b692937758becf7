// SPDX-License-Identifier: Apache-2.0
#include "metrics/line_tokens.h"

#include <array>
#include <optional>

#include "base/text.h"
#include "metrics/log_words.h"
#include "metrics/numbers.h"

namespace stoker::metrics {
namespace {

using Kind = Token::Kind;

constexpr size_t kMostTokens = 1500;

// What a character is: part of a word or number, a blank, or a Kind of its own.
constexpr uint8_t kInner = 0xff;
constexpr uint8_t kBlank = 0xfe;

constexpr std::array<uint8_t, 256> MakeSigns() {
  std::array<uint8_t, 256> signs{};
  for (uint8_t& sign : signs) sign = kInner;
  const auto set = [&](std::string_view characters, uint8_t sign) {
    for (const char c : characters) signs[static_cast<unsigned char>(c)] = sign;
  };
  const auto of = [](Kind kind) { return static_cast<uint8_t>(kind); };
  set(" \t", kBlank);
  set(":=", of(Kind::kSep));
  set("\"'`", of(Kind::kQuote));
  set("(", of(Kind::kOpen));
  set(")", of(Kind::kClose));
  set("[", of(Kind::kOpenSquare));
  set("]", of(Kind::kCloseSquare));
  set(",;|<>{}", of(Kind::kBreak));
  return signs;
}
constexpr std::array<uint8_t, 256> kSigns = MakeSigns();

uint8_t SignOf(char c) { return kSigns[static_cast<unsigned char>(c)]; }
bool EndsRun(char c) { return SignOf(c) != kInner; }

std::optional<int64_t> PlainWhole(std::string_view text) {
  return WholeNumber(text, 0, int64_t{1} << 52);
}

// "1,234.5": groups of three behind a first one that does not begin with 0.
std::optional<double> Grouped(std::string_view text) {
  const size_t first = text.find(',');
  const size_t signs = !text.empty() && (text[0] == '-' || text[0] == '+') ? 1 : 0;
  if (first == text.npos || first == signs || first > signs + 3 || text[signs] == '0') {
    return std::nullopt;
  }
  std::string plain(text.substr(0, first));
  for (size_t at = first; at < text.size() && text[at] == ',';) {
    const std::string_view group = text.substr(at + 1, 3);
    if (group.size() < 3 || !PlainWhole(group)) return std::nullopt;
    plain += group;
    at += 4;
    if (at < text.size() && text[at] == '.') {
      plain += text.substr(at);
      break;
    }
    if (at < text.size() && text[at] != ',') return std::nullopt;
  }
  return ParseNumber(plain);
}

// Also "1,532".
std::optional<int64_t> WholeText(std::string_view text) {
  if (text.find(',') == text.npos) return PlainWhole(text);
  const auto value =
      text.find('.') == text.npos && text.size() <= 20 ? Grouped(text) : std::nullopt;
  if (!value || *value < 0) return std::nullopt;
  return static_cast<int64_t>(*value);
}

// What begins like a number: all of it must be one.
void ReadNumeral(Token* token) {
  std::string_view text = token->text;
  token->kind = Kind::kNumber;
  while (text.size() > 1 && (text.back() == '!' || text.back() == '*')) text.remove_suffix(1);
  if (text.size() > 1 && text.back() == '.' && text.find('.') != text.size() - 1) {
    text.remove_suffix(1);
  }
  if (text.size() > 1 && text.back() == '%') {
    token->percent = true;
    text.remove_suffix(1);
  }
  auto value = ParseNumber(text);
  if (!value && text.find(',') != text.npos) value = Grouped(text);
  if (!value) {  // "1.0+0.1": how far off it may be
    const size_t plus = text.find_first_of("+\xc2", 1);
    const size_t behind = plus == text.npos ? plus : plus + (text[plus] == '+' ? 1 : 2);
    const bool exponent = plus != text.npos && (text[plus - 1] == 'e' || text[plus - 1] == 'E');
    if (plus != text.npos && !exponent && behind < text.size() &&
        ParseNumber(text.substr(behind))) {
      value = ParseNumber(text.substr(0, plus));
    }
  }
  if (value) {
    token->value = *value;
    return;
  }
  token->kind = Kind::kJunk;
  const size_t slash = text.find('/');
  if (slash == text.npos || token->percent) return;
  const auto part = WholeText(text.substr(0, slash));
  const auto whole = WholeText(text.substr(slash + 1));
  if (!part || (!whole && slash + 1 < text.size())) return;
  token->kind = Kind::kRatio;  // of "200/ 2983" the rest follows
  token->part = *part;
  token->whole = whole.value_or(-1);
}

bool IsLetters(std::string_view text) {
  for (size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) return true;
    // Letters of other scripts; boxes, bars, arrows and dots (U+2000 to U+2FFF) are none.
    if (c >= 0xc3 && c != 0xe2) return true;
    if (c == 0xe2) i += 2;
  }
  return false;
}

void ReadWord(Token* token) {
  std::string_view& text = token->text;
  while (text.size() > 1 && std::string_view(".!?*").find(text.back()) != std::string_view::npos) {
    text.remove_suffix(1);
  }
  if (text == "+" || text == "+/-" || text == "\xc2\xb1") {
    token->kind = Kind::kPlus;
  } else if (text == "/") {
    token->kind = Kind::kSlash;
  } else if (text.find_first_not_of('-') == text.npos || text == "\xe2\x80\x93" ||
             text == "\xe2\x80\x94") {
    token->kind = Kind::kDash;
  } else if (StartsWith(text, "\xe2\x86")) {  // U+2190 and on
    token->kind = Kind::kArrow;
  } else if (!IsLetters(text)) {
    token->kind = Kind::kBreak;
  } else if (text[0] == '-' || text[0] == '/' || text[0] == '~' || text[0] == '$') {
    token->kind = Kind::kJunk;
  } else {
    token->kind = Kind::kWord;
    token->flags = FlagsOf(text);
  }
}

class Splitter {
 public:
  Splitter(std::string_view line, std::vector<Token>* tokens) : line_(line), tokens_(*tokens) {}

  bool Split() {
    for (at_ = 0; at_ < line_.size();) {
      if (tokens_.size() >= kMostTokens) return false;
      size_t blanks = at_;
      bool tab = false;
      while (blanks < line_.size() && SignOf(line_[blanks]) == kBlank)
        tab |= line_[blanks++] == '\t';
      Token token;
      token.gap = blanks > at_;
      token.wide = tab || blanks > at_ + 1;
      at_ = blanks;
      if (at_ >= line_.size()) break;
      Next(&token);
    }
    return true;
  }

 private:
  bool Digit(size_t at) const { return at < line_.size() && IsDigit(line_[at]); }

  bool BeginsNumber() const {
    const char c = line_[at_];
    if (IsDigit(c)) return true;
    if (c == '#') return Digit(at_ + 1);
    if (c != '+' && c != '-' && c != '.') return false;
    if (Digit(at_ + 1)) return true;
    return line_.size() > at_ + 1 && (c != '.' && line_[at_ + 1] == '.') && Digit(at_ + 2);
  }

  void Next(Token* token) {
    const char c = line_[at_];
    if (EndsRun(c)) {
      token->kind = static_cast<Kind>(SignOf(c));
      token->text = line_.substr(at_++, 1);
      if (c == '>' && !tokens_.empty() && !token->gap && tokens_.back().kind == Kind::kDash) {
        tokens_.back().kind = Kind::kArrow;
        return;
      }
      tokens_.push_back(*token);
      return;
    }
    size_t end = at_;
    const bool number = BeginsNumber();
    if (number) {
      // A comma or colon between two digits is of the same token: 1,234 and 0:12:01.
      while (end < line_.size() &&
             (!EndsRun(line_[end]) || ((line_[end] == ',' || line_[end] == ':') && end > at_ &&
                                       Digit(end - 1) && Digit(end + 1)))) {
        ++end;
      }
    } else {
      // An apostrophe between letters is of the word: "valid_0's".
      while (end < line_.size() &&
             (!EndsRun(line_[end]) || (line_[end] == '\'' && end > at_ && end + 1 < line_.size() &&
                                       !EndsRun(line_[end + 1]) && !EndsRun(line_[end - 1])))) {
        ++end;
      }
    }
    token->text = line_.substr(at_, end - at_);
    at_ = end;
    if (number) {
      if (token->text[0] == '#') {
        token->text.remove_prefix(1);
        token->flags = kOtherWord;
      }
      ReadNumeral(token);
      JoinRatio(token);
    } else if (Wrapped(token)) {
      return;
    } else if (token->text.size() <= 9 && ParseNumber(token->text)) {
      token->kind = Kind::kNumber;  // nan, inf
      token->value = *ParseNumber(token->text);
    } else {
      const size_t all = token->text.size();
      ReadWord(token);
      tokens_.push_back(*token);
      if (token->kind != Kind::kWord || token->text.size() == all) return;
      *token = Token();  // a sentence has ended: what follows is not of this word
    }
    tokens_.push_back(*token);
  }

  // "100 / 1000", "200/ 2983" and "[ 10/5005]" are one.
  void JoinRatio(Token* token) {
    if (token->kind != Kind::kNumber || tokens_.empty()) return;
    const auto whole = WholeText(token->text);
    if (!whole) return;
    Token& last = tokens_.back();
    if (last.kind == Kind::kRatio && last.whole < 0) {
      token->part = last.part;
    } else if (last.kind == Kind::kSlash && tokens_.size() > 1 &&
               tokens_[tokens_.size() - 2].kind == Kind::kNumber &&
               WholeText(tokens_[tokens_.size() - 2].text)) {
      tokens_.pop_back();
      token->part = *WholeText(tokens_.back().text);
    } else {
      return;
    }
    token->kind = Kind::kRatio;
    token->whole = *whole;
    token->gap = tokens_.back().gap;
    token->wide = tokens_.back().wide;
    tokens_.pop_back();
  }

  // np.float64(0.5), tensor(0.5, device='cuda:0'): how NumPy, PyTorch and JAX print a number.
  bool Wrapped(Token* token) {
    if (at_ >= line_.size() || line_[at_] != '(') return false;
    const size_t begin = at_ - token->text.size();
    size_t used = 0;
    const auto value = UnwrapNumber(line_.substr(begin), &used);
    if (!value) return false;
    token->kind = Kind::kNumber;
    token->text = line_.substr(begin, used);
    token->value = *value;
    at_ = begin + used;
    tokens_.push_back(*token);
    return true;
  }

  const std::string_view line_;
  std::vector<Token>& tokens_;
  size_t at_ = 0;
};

}  // namespace

bool SplitLine(std::string_view line, std::vector<Token>* tokens) {
  tokens->clear();
  return Splitter(line, tokens).Split();
}

}  // namespace stoker::metrics

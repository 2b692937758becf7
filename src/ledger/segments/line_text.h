// SPDX-License-Identifier: Apache-2.0
// One line of a segment: a flat JSON array of whole numbers and plain text.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/time.h"

namespace stoker {

// Text loses its control characters.
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
  // What was read is not what belongs there: the line is none.
  void Refuse() { ok_ = false; }
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

}  // namespace stoker

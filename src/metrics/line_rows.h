// SPDX-License-Identifier: Apache-2.0
// What a line of a log says of training: where it is, and numbers that stand beside their names.
// Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "metrics/line_tokens.h"

namespace stoker::metrics {

struct NamedValue {
  std::string_view name;   // as it stands in the line: "Train Loss", "valid_0's l2"
  std::string_view phase;  // the word before it that says of what data it is, or ""
  double value = 0;
  bool result = false;  // it names what a program learns, and is no whole number
};

struct Place {
  int64_t part = 0;
  int64_t whole = 0;
};

// "11/29" is the 29th of November, too.
bool MayBeDate(const Place& place);

struct LineRow {
  std::optional<int64_t> epoch;
  std::optional<int64_t> step;
  std::optional<Place> place;  // 640 of 60000; within the epoch, where there is one
  bool named = false;          // … and a word says that it counts steps
  bool leads = false;          // … and no word does, and the line begins with it: [3/14], 3/14
  bool batch = false;          // batches of an epoch are counted, without their number
  int64_t rank = 0;
  std::optional<int64_t> fold;
  std::string_view phase;  // what the line as a whole is about: "Train", "val"
  bool bar = false;        // of a progress bar
  bool plain = true;       // no words or numbers but names, counts and values
  bool heading = true;     // … and no names either: "Epoch 3", "starting epoch 3"
  std::vector<NamedValue> values;
  // A number that is called a result, and was not taken.
  std::string_view refused;

  bool counts() const { return epoch || step || place; }
};

// A number becomes a value only where it is a whole token beside its name: NAME: 0.5, NAME=0.5,
// NAME 0.5, NAME 0.5 (average). Not thread-safe: what it holds is used for the next line.
class LineReader {
 public:
  // The views are those of `line`. False: it is no line of text, or too long.
  bool Read(std::string_view line, LineRow* row);

 private:
  using Kind = Token::Kind;
  bool Is(size_t at, Kind kind) const { return at < tokens_.size() && tokens_[at].kind == kind; }
  bool Has(size_t at, uint32_t flags) const {
    return Is(at, Kind::kWord) && (tokens_[at].flags & flags) != 0;
  }
  void Use(size_t from, size_t to);
  bool TakeCount(size_t at, LineRow* row);
  void TakeRank(size_t at, LineRow* row);
  bool TakePlace(size_t at, LineRow* row);
  void TakeBare(size_t at, LineRow* row);
  void TakeValue(size_t at, LineRow* row);
  // How many tokens behind the number at `at` belong to it; nullopt: it is no whole number of its
  // own.
  std::optional<size_t> Behind(size_t at, bool signed_name) const;
  bool LeadsOn(size_t at) const;
  bool NameIsGood(size_t begin, size_t end, bool signed_name) const;
  void Judge(LineRow* row) const;

  std::vector<Token> tokens_;
  std::vector<char> used_;
  size_t first_ = 0;              // the first token of a value
  std::optional<size_t> square_;  // the N of a [N]
};

}  // namespace stoker::metrics

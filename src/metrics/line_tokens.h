// SPDX-License-Identifier: Apache-2.0
// A line of a log in its smallest parts. Pure.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace stoker::metrics {

struct Token {
  enum class Kind {
    kWord,
    kNumber,  // a whole token: 0.5, 1,234.5, 97%, nan, np.float64(0.5)
    kRatio,   // 12/100
    kJunk,    // what holds digits and is no number: dates, times, sizes, versions, paths
    kSep,     // : or =
    kQuote,
    kOpen,
    kClose,
    kOpenSquare,
    kCloseSquare,
    kBreak,  // , ; | and what else stands between parts
    kDash,
    kPlus,  // + or ±: how far off a number may be
    kArrow,
    kSlash,
  };
  Kind kind = Kind::kBreak;
  std::string_view text;
  bool gap = false;      // a blank before it
  bool wide = false;     // several, or a tab
  bool percent = false;  // of a number
  double value = 0;
  int64_t part = 0;  // of a ratio
  int64_t whole = 0;
  uint32_t flags = 0;  // of a word; of a number kOtherWord: #3, which is no value
};

// False: it has more parts than a line of metrics.
bool SplitLine(std::string_view line, std::vector<Token>* tokens);

}  // namespace stoker::metrics

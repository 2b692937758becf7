// SPDX-License-Identifier: Apache-2.0
// Which series a number of a log line belongs to, and where in it. Pure, stepped.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "metrics/line_rows.h"
#include "metrics/point.h"

namespace stoker::metrics {

// What the lines so far have shown of the series of a log. A later attempt goes on with it, so that
// the same line is of the same series there.
struct LogSeries {
  // "s", "e" or "o": its points are at steps, at epochs, or in their order; and then the word that
  // said of what data the first of them was.
  std::map<std::string, std::string, std::less<>> names;
  int64_t first_epoch = -1;  // 0 or 1, what this program counts from; -1: it has counted none
  // How often the places of a series, "640 of 60000" without a word, have begun again.
  std::map<std::string, int64_t, std::less<>> rounds;
};

class LineNames {
 public:
  void set_series(LogSeries series) { series_ = std::move(series); }
  const LogSeries& series() const { return series_; }
  // Gives the values of a line that counts, or comes after one that counted epochs, or holds
  // results alone. Returns how many.
  int64_t Give(const LineRow& row, WallTime time, PointSink& sink);
  // "Epoch 3/10" on a line of its own: what follows is of this epoch.
  void BeginEpoch(int64_t epoch);
  std::optional<int64_t> epoch() const { return epoch_; }

 private:
  struct At {
    char axis = 'o';  // as in LogSeries; 'p': the row's place, of which its series knows the round
    std::optional<int64_t> step;
    int64_t epoch = -1;
  };
  void CountFrom(int64_t epoch);
  std::optional<At> Where(const LineRow& row);
  At InRound(std::string_view name, const Place& place);
  std::string_view Apart(std::string_view name, std::string_view phase, char axis, bool counted,
                         std::string* held);

  LogSeries series_;
  struct Count {
    Place last;
    int64_t first = 0;  // what its round began with
  };
  std::map<std::string, Count, std::less<>> places_;  // of series
  std::optional<int64_t> epoch_;
  bool headed_ = false;  // epoch_ stood on a line of its own
};

}  // namespace stoker::metrics

// SPDX-License-Identifier: Apache-2.0
#include "metrics/csv_rows.h"

#include <algorithm>
#include <utility>

#include "metrics/numbers.h"

namespace stoker::metrics {

void CsvReader::Feed(std::string_view bytes, WallTime now, PointSink& sink) {
  for (const char c : bytes) {
    ++offset_;
    if (header_.empty() && line_.size() < kMaxRow) line_ += c;
    if (++held_ > kMaxRow) quoted_ = false;  // a quote that never ends must not hide the rest
    if (quoted_) {
      if (c != '"') {
        cell_ += c;
      } else {
        quoted_ = false;
        after_quote_ = true;
      }
      continue;
    }
    if (c == '"' && (cell_.empty() || after_quote_)) {
      if (after_quote_) cell_ += '"';
      quoted_ = true;
    } else if (c == ',') {
      if (held_ <= kMaxRow) cells_.push_back(std::move(cell_));
      cell_.clear();
    } else if (c == '\n') {
      if (held_ <= kMaxRow) cells_.push_back(std::move(cell_));
      cell_.clear();
      EndRow(now, sink);
    } else if (held_ <= kMaxRow) {
      cell_ += c;
    }
    after_quote_ = false;
  }
}

void CsvReader::EndRow(WallTime now, PointSink& sink) {
  const bool too_long = std::exchange(held_, 0) > kMaxRow;
  std::vector<std::string> cells = std::exchange(cells_, {});
  const bool blank = cells.size() == 1 && Bare(cells[0]).empty();
  if (header_.empty()) {
    const std::string line = std::exchange(line_, "");
    if (blank || too_long) return;
    header_ = line;
    for (const std::string& cell : cells) names_.emplace_back(Bare(cell));
    return;
  }
  if (blank) return;
  if (too_long) ++damaged_;
  if (++rows_ <= known_ || too_long) return;
  Row row;
  for (size_t i = 0; i < std::min(cells.size(), names_.size()); ++i) {
    const auto value = ParseNumber(Bare(cells[i]));
    if (value && !names_[i].empty()) row.emplace_back(names_[i], *value);
  }
  EmitRow(row, std::nullopt, now, sink);
}

}  // namespace stoker::metrics

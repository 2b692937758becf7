// SPDX-License-Identifier: Apache-2.0
#include "metrics/csv_rows.h"

#include <algorithm>
#include <utility>

#include "base/crc32c.h"
#include "base/text.h"
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

bool CsvReader::IsHeader(const std::vector<std::string>& cells) const {
  bool known = false;
  for (const std::string& cell : cells) {
    const std::string_view name = Bare(cell);
    if (name.empty() || ParseNumber(name)) return false;
    known |= std::find(names_.begin(), names_.end(), name) != names_.end();
  }
  return known && cells.size() > 1;
}

bool CsvReader::HadBefore(const std::vector<std::string>& cells) {
  uint32_t sum = 1;
  for (size_t i = 0; i < cells.size(); ++i) {
    const std::string_view cell = Bare(cells[i]);
    if (cell.empty()) continue;
    // In whatever order the columns stand.
    const uint32_t name = i < names_.size() ? Crc32c(names_[i]) : 0;
    sum += Crc32c(cell, name) * 2654435761U;
  }
  const size_t at = seen_.size();
  if (at < kMostRows) seen_.push_back(sum);
  again_ = again_ && at < before_.size() && before_[at] == sum;
  return again_;
}

void CsvReader::EndRow(WallTime now, PointSink& sink) {
  const bool too_long = std::exchange(held_, 0) > kMaxRow;
  std::vector<std::string> cells = std::exchange(cells_, {});
  const bool blank = cells.size() == 1 && Bare(cells[0]).empty();
  const bool first = header_.empty();
  if (first) {
    const std::string line = std::exchange(line_, "");
    if (blank || too_long) return;
    header_ = line;
    if (StartsWith(cells[0], "\xef\xbb\xbf")) cells[0].erase(0, 3);  // a byte order mark
  }
  if (blank) return;
  if (first || (!too_long && IsHeader(cells))) {
    names_.clear();
    for (const std::string& cell : cells) names_.emplace_back(Bare(cell));
    return;
  }
  if (too_long) ++damaged_;
  ++rows_;
  const bool had = HadBefore(cells) || rows_ <= known_;
  if (had || too_long) return;
  Row row;
  for (size_t i = 0; i < cells.size(); ++i) {
    const auto value = ParseNumber(Bare(cells[i]));
    if (!value) continue;
    if (i >= names_.size()) {
      ++nameless_;
      break;
    }
    if (!names_[i].empty()) row.emplace_back(names_[i], *value);
  }
  EmitRow(row, std::nullopt, now, sink);
}

}  // namespace stoker::metrics

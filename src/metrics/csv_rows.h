// SPDX-License-Identifier: Apache-2.0
// Reads a table of metrics as it grows: metrics.csv of Lightning's CSVLogger and what looks like it
// (RFC 4180: a header, commas, quotes). Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "metrics/point.h"

namespace stoker::metrics {

// Stepped; holds one row of at most kMaxRow bytes. A row counts once its line has ended, so that
// half a number is never taken for a whole one. Empty cells and those that are no numbers are left
// out; the step is as metrics/numbers.h has it. A row of names is a header from there on.
class CsvReader {
 public:
  static constexpr size_t kMaxRow = 1 << 20;

  // What a row held, whatever columns are beside it; of all rows in their order.
  using Rows = std::vector<uint32_t>;

  // Gives nothing of the first `known` rows: another reader had them.
  explicit CsvReader(int64_t known = 0) : known_(known) {}
  // Of a table that was begun anew: those rows that it has again from its beginning on, as when
  // CSVLogger adds a column, are known; from the first that is another on, all are new.
  explicit CsvReader(Rows before) : before_(std::move(before)) {}

  // From the file's beginning on. `now`: the time of rows that name none.
  void Feed(std::string_view bytes, WallTime now, PointSink& sink);

  // Rows so far without the header, known ones too.
  int64_t rows() const { return rows_; }
  int64_t offset() const { return offset_; }  // bytes so far
  // The first line, once it is whole; "" before.
  const std::string& header() const { return header_; }
  int64_t damaged() const { return damaged_; }    // rows that are too long
  int64_t nameless() const { return nameless_; }  // rows with more cells than names
  // Whether all of it so far was known from the table before it.
  bool again() const { return again_ || rows_ < known_; }
  // Of the longer of the two, this table and the one before it.
  Rows TakeRows() { return std::move(seen_.size() < before_.size() ? before_ : seen_); }

 private:
  void EndRow(WallTime now, PointSink& sink);
  bool IsHeader(const std::vector<std::string>& cells) const;
  bool HadBefore(const std::vector<std::string>& cells);

  static constexpr size_t kMostRows = 500'000;  // that are remembered
  int64_t known_ = 0;
  Rows before_;
  Rows seen_;
  bool again_ = true;  // all rows so far are those of before_
  int64_t rows_ = 0;
  int64_t offset_ = 0;
  int64_t damaged_ = 0;
  int64_t nameless_ = 0;
  std::string header_;
  std::vector<std::string> names_;
  std::vector<std::string> cells_;
  std::string cell_;
  std::string line_;  // of the header
  size_t held_ = 0;
  bool quoted_ = false;
  bool after_quote_ = false;
};

}  // namespace stoker::metrics

// SPDX-License-Identifier: Apache-2.0
// Reads a table of metrics as it grows: metrics.csv of Lightning's CSVLogger and what looks like it
// (RFC 4180: a header, commas, quotes). Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "metrics/point.h"

namespace stoker::metrics {

// Stepped; holds one row of at most kMaxRow bytes. A row counts once its line has ended, so that
// half a number is never taken for a whole one. Empty cells and those that are no numbers are left
// out; the step is as metrics/numbers.h has it.
class CsvReader {
 public:
  static constexpr size_t kMaxRow = 1 << 20;

  // Gives nothing of the first `known` rows: a table that was written anew, as CSVLogger does when
  // a column is added, has them again.
  explicit CsvReader(int64_t known = 0) : known_(known) {}

  // From the file's beginning on. `now`: the time of rows that name none.
  void Feed(std::string_view bytes, WallTime now, PointSink& sink);

  // Rows so far without the header, known ones too.
  int64_t rows() const { return rows_; }
  int64_t offset() const { return offset_; }  // bytes so far
  // The first line, once it is whole; "" before.
  const std::string& header() const { return header_; }
  int64_t damaged() const { return damaged_; }  // rows that are too long

 private:
  void EndRow(WallTime now, PointSink& sink);

  const int64_t known_;
  int64_t rows_ = 0;
  int64_t offset_ = 0;
  int64_t damaged_ = 0;
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

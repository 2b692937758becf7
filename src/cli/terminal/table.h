// SPDX-License-Identifier: Apache-2.0
// Aligned columns for people. Widths are columns of a terminal: a wide character takes two.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace stoker::cli {

// Rows of cells; the first row is the head. Cells are printed as they are (already Printable);
// escape sequences of colours do not count. The last column is not padded.
std::string FormatTable(const std::vector<std::vector<std::string>>& rows);

// What a column gives up when a table is too wide.
struct ColumnRule {
  size_t shrinks_to = 0;  // cells are cut to no less than this; 0 = never cut
  int goes = 0;           // left out when cutting is not enough, the highest first; 0 = never
};

struct FittedTable {
  std::string text;
  std::vector<std::string> left_out;  // heads of the columns that went
};

// The same in at most `width` columns where the rules allow it; a cut cell ends with "…".
FittedTable FitTable(std::vector<std::vector<std::string>> rows, std::vector<ColumnRule> rules,
                     size_t width);

// The columns of a terminal that `text` takes: two for each wide character of East Asia and for
// pictographs, none for marks that join the character before and for escape sequences.
size_t DisplayWidth(std::string_view text);

}  // namespace stoker::cli

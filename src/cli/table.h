// SPDX-License-Identifier: Apache-2.0
// Aligned columns for people. Widths count characters, not bytes.
#pragma once

#include <string>
#include <vector>

namespace stoker::cli {

// Rows of cells; the first row is the head. Cells are printed as they are (already Printable);
// escape sequences of colours do not count. The last column is not padded.
std::string FormatTable(const std::vector<std::vector<std::string>>& rows);

}  // namespace stoker::cli

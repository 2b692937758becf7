// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal/table.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace stoker::cli {
namespace {

TEST(Table, WidthsAreThoseOfATerminal) {
  EXPECT_EQ(DisplayWidth("abc"), 3u);
  EXPECT_EQ(DisplayWidth("\x1b[32mabc\x1b[0m"), 3u);
  EXPECT_EQ(DisplayWidth("模型"), 4u);
  EXPECT_EQ(DisplayWidth("é"), 1u);
  EXPECT_EQ(DisplayWidth("e\u0301"), 1u);
  EXPECT_EQ(DisplayWidth("🚀"), 2u);
}

TEST(Table, FitsWhereTheRulesAllowIt) {
  const std::vector<std::vector<std::string>> rows = {
      {"JOB", "NAME", "STATUS", "NODES", "REASON"},
      {"abcdefgh", "模型模型模型模型模型模型", "\x1b[32mSucceeded\x1b[0m", "1", "Completed"},
      {"bcdefghi", "a", "\x1b[31mFailed\x1b[0m", "12", "UserError (out of memory)"}};
  const std::vector<ColumnRule> rules = {{}, {10, 0}, {}, {0, 2}, {9, 1}};
  const FittedTable whole = FitTable(rows, rules, 200);
  EXPECT_EQ(whole.text, FormatTable(rows));
  EXPECT_TRUE(whole.left_out.empty());
  for (const size_t width : {120u, 80u, 60u, 50u, 40u, 31u}) {
    const FittedTable table = FitTable(rows, rules, width);
    for (const std::string& line : Split(table.text, '\n')) {
      EXPECT_LE(DisplayWidth(line), width) << table.text;
    }
    EXPECT_NE(table.text.find("bcdefghi"), std::string::npos);
  }
  EXPECT_TRUE(FitTable(rows, rules, 60).left_out.empty());
  EXPECT_EQ(FitTable(rows, rules, 45).left_out, (std::vector<std::string>{"NODES"}));
  EXPECT_EQ(FitTable(rows, rules, 31).left_out, (std::vector<std::string>{"NODES", "REASON"}));
  // Narrower than what may not go: as narrow as it gets.
  EXPECT_NE(FitTable(rows, rules, 5).text.find("Succeeded"), std::string::npos);
}

}  // namespace
}  // namespace stoker::cli

// SPDX-License-Identifier: Apache-2.0
#include "view/troubles_told.h"

#include <gtest/gtest.h>

namespace stoker {
namespace {

ReportSeen Report(int attempt, int rank, const std::string& trouble) {
  ReportSeen seen;
  seen.report.attempt = attempt;
  seen.report.rank = rank;
  seen.report.trouble = trouble;
  return seen;
}

TEST(TroublesTold, TwoAttemptsOfANodeDoNotTakeTurns) {
  TroublesTold told;
  const std::vector<ReportSeen> reports = {Report(1, 0, "full"), Report(2, 0, "lines wait"),
                                           Report(3, 0, "")};
  const auto first = told.News(reports);
  ASSERT_EQ(first.size(), 2u);
  EXPECT_EQ(first[0], &reports[0].report);
  EXPECT_EQ(first[1], &reports[1].report);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(told.News(reports).empty());
}

TEST(TroublesTold, EachNodeHasItsOwn) {
  TroublesTold told;
  EXPECT_EQ(told.News({Report(1, 0, "full"), Report(1, 1, "full")}).size(), 2u);
  EXPECT_TRUE(told.News({Report(1, 1, "full"), Report(1, 0, "full")}).empty());
}

TEST(TroublesTold, ACountThatGrowsIsNoNews) {
  TroublesTold told;
  EXPECT_EQ(told.News({Report(1, 0, "no room (1 try; they wait)")}).size(), 1u);
  EXPECT_TRUE(told.News({Report(1, 0, "no room (2 tries; they wait)")}).empty());
  EXPECT_TRUE(told.News({Report(1, 0, "no room (31 tries; they wait)")}).empty());
  EXPECT_EQ(told.News({Report(1, 0, "no room (31 tries; they went)")}).size(), 1u);
}

TEST(TroublesTold, NamesWithNumbersAreDifferentThings) {
  TroublesTold told;
  EXPECT_EQ(told.News({Report(1, 0, "'s (1).pt' 1-2")}).size(), 1u);
  EXPECT_EQ(told.News({Report(1, 0, "'s (2).pt' 1-2")}).size(), 1u);
  EXPECT_EQ(told.News({Report(1, 0, "'s (2).pt' 1-3")}).size(), 1u);
  EXPECT_EQ(told.News({Report(1, 0, "cut (7")}).size(), 1u);
  EXPECT_EQ(told.News({Report(1, 0, "cut (")}).size(), 1u);
}

TEST(TroublesTold, WhatComesAgainIsSaidAgain) {
  TroublesTold told;
  EXPECT_EQ(told.News({Report(1, 0, "full")}).size(), 1u);
  EXPECT_EQ(told.News({Report(1, 0, "full; lines wait")}).size(), 1u);
  EXPECT_TRUE(told.News({Report(1, 0, "full")}).empty()) << "it was there all the time";
  EXPECT_TRUE(told.News({Report(1, 0, "")}).empty());
  EXPECT_EQ(told.News({Report(1, 0, "full")}).size(), 1u);
}

}  // namespace
}  // namespace stoker

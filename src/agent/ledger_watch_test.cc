// SPDX-License-Identifier: Apache-2.0
#include "agent/ledger_watch.h"

#include <gtest/gtest.h>

namespace stoker {
namespace {

TEST(LedgerWatch, OnlyAnswersWithoutTheRecordCount) {
  LedgerWatch watch;
  const MonoTime start{5'000};
  EXPECT_FALSE(watch.Gone(start + Duration::Hours(100)));
  watch.Missing(start);
  watch.Missing(start + Duration::Minutes(9));
  EXPECT_FALSE(watch.Gone(start + Duration::Minutes(9)));
  EXPECT_TRUE(watch.Gone(start + Duration::Minutes(10)));
  watch.Otherwise();
  EXPECT_FALSE(watch.Gone(start + Duration::Minutes(10)));
  watch.Missing(start + Duration::Minutes(11));
  EXPECT_FALSE(watch.Gone(start + Duration::Minutes(20)));
  EXPECT_TRUE(watch.Gone(start + Duration::Minutes(21)));
}

}  // namespace
}  // namespace stoker

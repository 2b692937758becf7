// SPDX-License-Identifier: Apache-2.0
#include "base/utf8.h"

#include <gtest/gtest.h>

namespace stoker {
namespace {

TEST(Utf8, IsWhatTheStandardSays) {
  for (const char* good :
       {"", "a", "\xc3\xa9", "\xed\x9f\xbf", "\xef\xbf\xbe", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_TRUE(IsUtf8(good)) << good;
  }
  for (const char* bad : {"\xe9", "\xc0\xaf", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80",
                          "\xe2\x82", "\xf5\x80\x80\x80", "\x80", "a\xff"}) {
    EXPECT_FALSE(IsUtf8(bad)) << bad;
  }
}

TEST(Utf8, NamesAreSpelledSoThatTheyCanBeFound) {
  EXPECT_EQ(Spelled("a \\ \xc3\xa9"), "a \\ \xc3\xa9");
  EXPECT_EQ(Spelled("new\nline"), "new\\x0aline");
  EXPECT_EQ(Spelled("esc\x1b[2J"), "esc\\x1b[2J");
  EXPECT_EQ(Spelled("\\caf\xe9"), "\\\\caf\\xe9");
  EXPECT_EQ(Spelled("c1\xc2\x85"), "c1\\xc2\\x85");
}

}  // namespace
}  // namespace stoker

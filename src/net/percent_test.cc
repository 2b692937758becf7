// SPDX-License-Identifier: Apache-2.0
#include "net/percent.h"

#include <gtest/gtest.h>

namespace stoker {
namespace {

TEST(Percent, KeepsTheUnreservedSetAlone) {
  EXPECT_EQ(PercentEncode("AZaz09-._~"), "AZaz09-._~");
  EXPECT_EQ(PercentEncode(" +%/=&?*!'()"), "%20%2B%25%2F%3D%26%3F%2A%21%27%28%29");
  EXPECT_EQ(PercentEncode("ሴ"), "%E1%88%B4");
}

TEST(Percent, PathsKeepTheirSlashes) {
  EXPECT_EQ(PercentEncodePath("/a//b/../c d"), "/a//b/../c%20d");
}

TEST(Percent, DecodesWhatItEncodes) {
  std::string all;
  for (int c = 0; c < 256; ++c) all += static_cast<char>(c);
  EXPECT_EQ(PercentDecode(PercentEncode(all)), all);
  EXPECT_EQ(PercentDecode("%e1%88%B4+"), "ሴ+");
  EXPECT_EQ(PercentDecode("100%"), "100%");
  EXPECT_EQ(PercentDecode("%4"), "%4");
  EXPECT_EQ(PercentDecode("%zz%4g%41"), "%zz%4gA");
}

}  // namespace
}  // namespace stoker

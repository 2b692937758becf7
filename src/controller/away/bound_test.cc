// SPDX-License-Identifier: Apache-2.0
#include "controller/away/bound.h"

#include <gtest/gtest.h>

#include <functional>

#include "controller/away/bound_for_test.h"

namespace stoker {
namespace {

TEST(Bound, WhatIsWithinItMayBeAskedFor) {
  EXPECT_TRUE(Within(SmallBound(), Small(), 2, 0).ok());
  EXPECT_TRUE(Within(SmallBound(), Small(), 1, 1).ok());
}

TEST(Bound, EachThingBeyondItIsNamed) {
  const auto refused = [](const std::function<void(AskedMachine&)>& change, const char* word,
                          int more = 1, int there = 0) {
    AskedMachine asked = Small();
    change(asked);
    const Status status = Within(SmallBound(), asked, more, there);
    EXPECT_TRUE(status.Is(Code::kDenied)) << word;
    EXPECT_NE(status.message().find(word), std::string::npos) << status.message();
    EXPECT_NE(status.next().find("controller --install"), std::string::npos);
  };
  refused([](auto& asked) { asked.region = "far"; }, "the region far");
  refused([](auto& asked) { asked.type = "large"; }, "the type large");
  refused([](auto& asked) { asked.identity = "admin"; }, "act as admin");
  refused([](auto& asked) { asked.identity = ""; }, "act as nobody");
  refused([](auto& asked) { asked.disk_gib = 51; }, "51 GiB");
  refused([](auto& asked) { asked.price.reset(); }, "no price");
  refused([](auto& asked) { asked.price = 100'001; }, "0.1000 $");
  refused([](auto&) {}, "64 more", 64);
  refused([](auto&) {}, "1 more where the ledger has 2", 1, 2);
  refused([](auto&) {}, "up to 2 at once", 2, 2'147'483'647);
}

TEST(Bound, AnUnknownPriceOnlyWhereThatWasAllowed) {
  Bound bound = SmallBound();
  AskedMachine asked = Small();
  asked.price.reset();
  bound.unknown_prices = true;
  EXPECT_TRUE(Within(bound, asked, 1, 0).ok());
}

TEST(Bound, IsWrittenAndReadBack) {
  const auto read = ParseBound(EncodeBound(SmallBound()));
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  EXPECT_EQ(Described(*read), Described(SmallBound()));
  EXPECT_EQ(EncodeBound(*read), EncodeBound(SmallBound()));
}

TEST(Bound, OneThatAllowsNothingOrSaysNothingIsRefused) {
  Bound none = SmallBound();
  none.types.clear();
  EXPECT_FALSE(ParseBound(EncodeBound(none)).ok());
  none = SmallBound();
  none.machines = 0;
  EXPECT_FALSE(ParseBound(EncodeBound(none)).ok());
  none = SmallBound();
  none.identity = "";
  EXPECT_FALSE(ParseBound(EncodeBound(none)).ok());
  EXPECT_FALSE(ParseBound("").ok());
  EXPECT_FALSE(ParseBound("{}").ok());
  EXPECT_TRUE(ParseBound(R"({"format": 2})").status().Is(Code::kTooNew));
}

TEST(Bound, OneThatIsTooLongIsRefusedBeforeItIsKept) {
  Bound bound = SmallBound();
  EXPECT_TRUE(CheckBound(bound).ok());
  const auto agree = [&] { return CheckBound(bound).ok() == ParseBound(EncodeBound(bound)).ok(); };
  while (EncodeBound(bound).size() < 3'010) {
    bound.types.back() += "x";
    EXPECT_TRUE(agree()) << EncodeBound(bound).size();
  }
  EXPECT_TRUE(CheckBound(bound).Is(Code::kInvalid));
  EXPECT_NE(CheckBound(bound).next().find("--type"), std::string::npos);
  bound = SmallBound();
  bound.identity = "";
  EXPECT_TRUE(CheckBound(bound).Is(Code::kInvalid));
}

}  // namespace
}  // namespace stoker

// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "sim/cloud/cloud.h"
#include "sim/cloud/cloud_kit.h"

namespace stoker::sim {
namespace {

class OthersTest : public CloudTest {
 protected:
  std::vector<std::string> Listed(const std::string& ledger, const std::string& job) {
    std::vector<std::string> ids;
    const auto listed = direct.Describe(ledger, job);
    for (const InstanceSeen& seen : *listed) ids.push_back(seen.id + " " + seen.token);
    return ids;
  }
};

TEST_F(OthersTest, SomebodysMachineIsListedWhereEverybodysAre) {
  const std::string ours = Launch("ours");
  const std::string theirs = cloud.AddForeign("zone-a", "");
  EXPECT_EQ(Listed("ledger", "").size(), 1U);
  cloud.lists_all = true;
  EXPECT_EQ(Listed("ledger", "").size(), 2U);
  EXPECT_EQ(Listed("ledger", "job").size(), 1U) << "it is of no job";
  EXPECT_EQ(cloud.Running(), 2);
  EXPECT_EQ(cloud.RunningOf(0), 1);
  EXPECT_EQ(cloud.RunningOf(kNobodyOfOurs), 1);
  cloud.End(theirs, "ended by whose it is");
  EXPECT_EQ(cloud.RunningOf(kNobodyOfOurs), 0);
  EXPECT_EQ(State(ours), InstanceState::kRequested);
}

TEST_F(OthersTest, OneThatLooksLikeOursHasOurTagsAndNotOurToken) {
  const std::string ours = Launch("ours");
  const std::string theirs = cloud.AddForeign("zone-a", ours);
  const std::vector<std::string> both = {ours + " ours", theirs + " "};
  EXPECT_EQ(Listed("ledger", "job"), both);
  EXPECT_EQ(cloud.Find(theirs)->launch(), cloud.Find(ours)->launch());
  EXPECT_EQ(cloud.OwnerOf("ours"), 0);
  EXPECT_FALSE(cloud.OwnerOf(""));
}

TEST_F(OthersTest, TheyTakeRoom) {
  cloud.SetCapacity("zone-a", 1, 0);
  EXPECT_NE(cloud.AddForeign("zone-a", ""), "");
  EXPECT_EQ(cloud.AddForeign("zone-a", ""), "");
  EXPECT_EQ(cloud.AddForeign("nowhere", ""), "");
  EXPECT_EQ(direct.Launch(Request("late")).code(), Code::kNoSpace);
}

TEST_F(OthersTest, NothingIsHadForMoreThanItMayCost) {
  cloud.SetPrice("zone-a", 300, 0);
  LaunchRequest request = Request("dear");
  request.ask.ceiling = 200;
  EXPECT_EQ(direct.Launch(request).code(), Code::kNoSpace);
  cloud.SetPrice("zone-a", 200, 0);
  const auto ids = direct.Launch(request);
  ASSERT_TRUE(ids.ok());
  EXPECT_EQ(cloud.Find(ids->front())->price, 200);
  const std::string any = Launch("any");
  cloud.SetPrice("zone-a", 201, 0);
  EXPECT_EQ(State(ids->front()), InstanceState::kGone);
  EXPECT_EQ(State(any), InstanceState::kRequested);
}

}  // namespace
}  // namespace stoker::sim

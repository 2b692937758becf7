// SPDX-License-Identifier: Apache-2.0
#include "provider/ec2/broker/ec2_trials.h"

#include <gtest/gtest.h>

#include <set>

#include "base/text.h"
#include "provider/ec2/api/ec2_simulate.h"
#include "provider/ec2/broker/ec2_rights.h"
#include "store/rights.h"

namespace stoker {
namespace {

Rights Printed() {
  constexpr char kStore[] = "s3://ours/a";
  auto rights = AddEc2Rights(RightsFor(kStore, "us-east-1").value_or(Rights()), kStore, "us-east-1",
                             "stoker");
  EXPECT_TRUE(rights.ok()) << rights.status().ToString();
  return rights.ok() ? *rights : Rights();
}

std::set<std::string> ActionsOf(const std::string& policy) {
  std::set<std::string> out;
  const auto questions = ec2::AskedOf(policy, "us-east-1", "1");
  EXPECT_TRUE(questions.ok()) << questions.status().ToString();
  for (const auto& each : questions.value_or(std::vector<ec2::AskedRole>())) {
    out.insert(each.actions.begin(), each.actions.end());
  }
  return out;
}

TEST(Trials, EachRightOfWhoSubmitsHasOne) {
  Rights printed = Printed();
  std::set<std::string> wanted, tried;
  for (const std::string& action : ActionsOf(*printed.Find(kSubmitterFile))) {
    if (!StartsWith(action, "s3:")) wanted.insert(action);  // 'stoker doctor' looks at the bucket
  }
  for (const std::string& action : ec2::TriedActions()) {
    EXPECT_TRUE(tried.insert(action).second) << action << " twice";
  }
  EXPECT_EQ(wanted, tried);
}

TEST(Trials, EachFileIsLookedAtOrNamed) {
  std::set<std::string> seen;
  for (const RightsFile& file : Printed().files) {
    const std::string how = ec2::HowLookedAt(file.name);
    EXPECT_NE(how, "") << file.name;
    EXPECT_TRUE(how != "simulated" || !ActionsOf(file.text).empty()) << file.name;
    seen.insert(how);
  }
  EXPECT_EQ(seen, (std::set<std::string>{"tried", "simulated", "not tried", "no rights"}));
}

}  // namespace
}  // namespace stoker

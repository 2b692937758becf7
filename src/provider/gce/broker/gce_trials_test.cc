// SPDX-License-Identifier: Apache-2.0
#include "provider/gce/broker/gce_trials.h"

#include <gtest/gtest.h>

#include "provider/gce/gce_rights.h"
#include "store/rights.h"

namespace stoker {
namespace {

Rights PrintedForGoogle() {
  constexpr char kStore[] = "gs://ours/a";
  auto rights = AddGceRights(RightsFor(kStore, "").value_or(Rights()), kStore, "p", "");
  EXPECT_TRUE(rights.ok()) << rights.status().ToString();
  return rights.ok() ? *rights : Rights();
}

TEST(GceTrials, EachFileIsAskedAboutOrNamed) {
  for (const RightsFile& file : PrintedForGoogle().files) {
    EXPECT_NE(gce::HowLookedAt(file.name), "") << file.name;
    const auto all = gce::PermissionsIn(file.text);
    EXPECT_FALSE(all.empty()) << file.name;
    EXPECT_LE(all.size(), 100U) << file.name << ": more are no request";
  }
}

TEST(GceTrials, WhatAnAnswerDoesNotHaveLacks) {
  const std::vector<std::string> asked = {"a.b.c", "d.e.f", "g.h.i"};
  EXPECT_EQ(gce::LackingIn(R"({"permissions": ["d.e.f", 7]})", asked),
            (std::vector<std::string>{"a.b.c", "g.h.i"}));
  EXPECT_EQ(gce::LackingIn("{}", asked), asked);  // as Google says that it is none
  EXPECT_EQ(gce::LackingIn("no JSON", asked), asked);
}

// Nobody answers: each right is named.
TEST(GceTrials, WhatIsNotAnsweredIsNamed) {
  const auto none = [](const std::string& service) {
    return Result<std::shared_ptr<gce::ComputeApi>>(
        Status(Code::kUnavailable, "no answer of " + service));
  };
  std::string told;
  Rights printed = PrintedForGoogle();
  for (const Finding& each : TellGceRights(none, "p", "stoker@p", true, printed)) {
    EXPECT_EQ(each.level, "note") << each.what;
    told += each.text + "\n";
  }
  for (const RightsFile& file : printed.files) {
    for (const std::string& each : gce::PermissionsIn(file.text)) {
      EXPECT_NE(told.find(each), std::string::npos) << each;
    }
  }
  for (const Finding& each : TellGceRights(none, "p", "stoker@p", false, printed)) {
    EXPECT_EQ(each.text.find("useExternalIp"), std::string::npos) << each.text;
  }
  EXPECT_NE(told.find("iam.serviceAccounts.actAs: no answer of iam"), std::string::npos) << told;
}

}  // namespace
}  // namespace stoker

// SPDX-License-Identifier: Apache-2.0
#include "client/login_end.h"

#include <gtest/gtest.h>

namespace stoker::client {
namespace {

// As Debian 12 has them, for a login by ssh, for what `systemd-run --user --scope` begins, and for
// a service of the system.
constexpr char kSession[] = "0::/user.slice/user-1000.slice/session-11.scope\n";
constexpr char kOwnSystemd[] =
    "0::/user.slice/user-1000.slice/user@1000.service/app.slice/run-r0ca8.scope\n";
constexpr char kService[] = "0::/system.slice/given.service\n";
constexpr char kUsual[] = "[Login]\n#KillUserProcesses=no\n#KillExcludeUsers=root\n";
constexpr char kKills[] = "[Login]\nKillUserProcesses=yes\n";

bool Says(const std::string& text, const char* word) {
  return text.find(word) != std::string::npos;
}

TEST(LoginEnd, IsToldWhereItTakesJobsWithIt) {
  EXPECT_EQ(TellLoginEnd({}), "") << "no systemd";
  EXPECT_EQ(TellLoginEnd({kService, "me", false, {kKills}}), "");
  EXPECT_EQ(TellLoginEnd({kSession, "me", false, {kUsual}}), "");
  EXPECT_TRUE(Says(TellLoginEnd({kOwnSystemd, "me", false, {kUsual}}), "enable-linger"));
  EXPECT_EQ(TellLoginEnd({kOwnSystemd, "me", true, {kKills}}), "");
}

TEST(LoginEnd, OfASessionIsWhatItsSettingsSay) {
  const std::string told = TellLoginEnd({kSession, "me", false, {kUsual, kKills}});
  EXPECT_TRUE(Says(told, "ends with this login")) << told;
  EXPECT_TRUE(Says(told, "systemd-run") && Says(told, "enable-linger")) << told;
  EXPECT_FALSE(Says(TellLoginEnd({kSession, "me", true, {kKills}}), "enable-linger"));
  EXPECT_EQ(TellLoginEnd({kSession, "root", false, {kKills}}), "");
  EXPECT_EQ(TellLoginEnd({kSession, "me", false, {kKills, "KillExcludeUsers=you me\n"}}), "");
  EXPECT_EQ(TellLoginEnd({kSession, "me", false, {kKills, "KillOnlyUsers=you\n"}}), "");
  EXPECT_EQ(TellLoginEnd({kSession, "me", false, {kKills, "KillUserProcesses=no\n"}}), "");
}

}  // namespace
}  // namespace stoker::client

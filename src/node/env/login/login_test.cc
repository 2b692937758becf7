// SPDX-License-Identifier: Apache-2.0
#include "node/env/login/login.h"

#include <gtest/gtest.h>

#include <map>

namespace stoker::node {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

std::optional<std::string> Known(const std::string& name) {
  static const std::map<std::string, std::string> kKnown = {
      {"TOKEN", "t0k/en@"}, {"PASSWORD", "p%40ss"}, {"HOST", "host"}};
  const auto found = kKnown.find(name);
  return found == kKnown.end() ? std::nullopt : std::optional(found->second);
}

TEST(Logins, AreTakenOutOfAddresses) {
  std::vector<AddressLogin> logins;
  EXPECT_EQ(TakeLogins("--index-url https://me:${PASSWORD}@index:8080/simple/\n"
                       "a @ git+https://${TOKEN}@${HOST}/a.git@main#egg=a\n"
                       "-e git+ssh://git@host/b\nc==1  # https://x@y\n",
                       Known, &logins),
            "--index-url https://index:8080/simple/\n"
            "a @ git+https://${HOST}/a.git@main#egg=a\n"
            "-e git+ssh://git@host/b\nc==1  # https://x@y\n");
  const std::vector<AddressLogin> expected = {
      {false, "https://index:8080", "https://index:8080/simple/", "me", "p@ss"},
      {true, "https://host", "https://host/a.git", "t0k/en@", ""}};
  EXPECT_EQ(logins, expected);
}

TEST(Logins, StayWhereTheyCannotBeGivenOtherwise) {
  for (const char* line : {"-i https://me:${UNKNOWN}@index/simple", "-i https://token@index/simple",
                           "-i https://me:a%20b@index/simple", "git+https://git@host/a.git"}) {
    std::vector<AddressLogin> logins;
    EXPECT_EQ(TakeLogins(line, Known, &logins), line);
    EXPECT_TRUE(logins.empty()) << line;
  }
  // A netrc knows hosts, and not their ports.
  std::vector<AddressLogin> logins;
  const std::string second = "https://you:two@index:2/simple";
  EXPECT_EQ(TakeLogins("https://me:one@index:1/simple " + second, Known, &logins),
            "https://index:1/simple " + second);
  EXPECT_EQ(logins.size(), 1u);
}

TEST(Logins, OfGitAreSettings) {
  std::vector<AddressLogin> logins;
  (void)TakeLogins("git+https://u:p@one/a git+https://u:p@one/b git+https://q@two/c", Known,
                   &logins);
  const Pairs expected = {{"GIT_CONFIG_KEY_3", "http.https://one/.extraHeader"},
                          {"GIT_CONFIG_VALUE_3", "Authorization: Basic dTpw"},
                          {"GIT_CONFIG_KEY_4", "http.https://two/.extraHeader"},
                          {"GIT_CONFIG_VALUE_4", "Authorization: Basic cTo="},
                          {"GIT_CONFIG_COUNT", "5"}};
  EXPECT_EQ(GitLogins(logins, 3), expected);
  EXPECT_TRUE(GitLogins({}, 3).empty());
}

TEST(Logins, OfSeveralUsersOfAHostAreTheRepositorys) {
  std::vector<AddressLogin> logins;
  (void)TakeLogins("git+https://u:p@one/a@v1 git+https://v:p@one/b", Known, &logins);
  EXPECT_EQ(GitLogins(logins, 0)[0].second, "http.https://one/a.extraHeader");
  EXPECT_EQ(GitLogins(logins, 0)[2].second, "http.https://one/b.extraHeader");
}

TEST(Logins, OfIndexesAreANetrc) {
  std::vector<AddressLogin> logins;
  (void)TakeLogins("https://u:p@one:80/a git+https://u:p@two/b", Known, &logins);
  EXPECT_EQ(NetrcOf(logins), "machine one login u password p\n");
  EXPECT_EQ(NetrcOf({}), "");
}

}  // namespace
}  // namespace stoker::node

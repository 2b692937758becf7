// SPDX-License-Identifier: Apache-2.0
#include "provider/cloud/ssh_words.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace stoker::cloud {
namespace {

bool Has(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

TEST(SshWords, TheHostKeyIsTheOneThatIsKnown) {
  const auto words = SshTo({"203.0.113.9", "ubuntu", "i-1", "/tmp/a b/key", "/tmp/a b/known", ""});
  EXPECT_EQ(words[0], "ssh");
  EXPECT_TRUE(Has(words, "StrictHostKeyChecking=yes"));
  EXPECT_TRUE(Has(words, "HostKeyAlias=i-1"));
  EXPECT_TRUE(Has(words, "UserKnownHostsFile=\"/tmp/a b/known\""));
  EXPECT_TRUE(Has(words, "GlobalKnownHostsFile=/dev/null"));
  EXPECT_TRUE(Has(words, "/tmp/a b/key"));
  EXPECT_EQ(words.back(), "203.0.113.9");
}

TEST(SshWords, ACommandReachesTheMachineAsItWasWritten) {
  EXPECT_EQ(CommandLine({"cat", "a b", "$HOME"}), "'cat' 'a b' '$HOME'");
  EXPECT_EQ(CommandLine({"cd /var && ls"}), "cd /var && ls");
  const SshCall call{"203.0.113.9", "ubuntu", "i-1", "k", "h", "cd /var && ls"};
  EXPECT_EQ(SshTo(call).back(), "cd /var && ls");
}

TEST(SshWords, TheWayIntoAContainerIsOneLineMore) {
  const std::string way =
      "sudo /opt/stoker/stoker __enter /var/lib/stoker/node /var/lib/stoker/node";
  EXPECT_EQ(InsideLine(""), way);
  EXPECT_EQ(InsideLine("echo $A"), way + " 'echo $A'");
  const auto words = SshTo({"203.0.113.9", "ubuntu", "i-1", "/k", "/h", way, true});
  EXPECT_EQ(words[words.size() - 4], "-t");
}

TEST(SshWords, AReportAddsNoLineOfItsOwn) {
  EXPECT_EQ(*KnownHosts("i-1", {"ssh-ed25519 AAAA", "ssh-rsa BBBB"}),
            "i-1 ssh-ed25519 AAAA\ni-1 ssh-rsa BBBB\n");
  EXPECT_FALSE(KnownHosts("i-1", {"ssh-ed25519 AAAA\n* ssh-rsa BBBB"}).ok());
}

TEST(SshWords, AUserIsNoOption) {
  EXPECT_TRUE(IsUserName("ec2-user"));
  for (const char* bad : {"", "-oProxyCommand=x", "a b", "a;b", "A"}) EXPECT_FALSE(IsUserName(bad));
}

}  // namespace
}  // namespace stoker::cloud

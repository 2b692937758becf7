// SPDX-License-Identifier: Apache-2.0
#include "provider/agent/agent_keeper.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include "base/text.h"
#include "sys/task/process_table.h"

namespace stoker {
namespace {

class AgentKeeperTest : public testing::Test {
 protected:
  // The shell's `script` in the place of an agent.
  AgentKeeper Keep(const std::string& script) {
    AgentConfig facts;
    facts.dir = dir_.path();
    facts.program = "/bin/sh";
    facts.argv = {"sh", "-c", script};
    facts.env = {"GIVEN=yes"};
    facts.log = dir_.path() + "/log";
    return AgentKeeper(facts, [this](const std::string& line) { said_.push_back(line); });
  }
  // Until the agent powers its machine off.
  std::string Run(AgentKeeper& keeper) {
    keeper.Start();
    for (;;) {
      if (const std::string why = keeper.Reap(); !why.empty()) return why;
      keeper.Restart();
      usleep(2000);
    }
  }
  std::string Read(const std::string& name) const {
    return sys::ReadFile(dir_.path() + "/" + name, 4096).value_or("");
  }

  sys::TempDir dir_ = *sys::TempDir::Make("agent");
  std::vector<std::string> said_;
};

TEST_F(AgentKeeperTest, StartsOneThatDiedAgainUntilItPowersOff) {
  AgentKeeper keeper = Keep(
      "echo $GIVEN $STOKER_INSTANCE_DIR; echo x >> runs; case $(wc -l < runs) in "
      "1) exit 3;; 2) kill -9 $$;; *) printf 'its job has ended' > why;; esac");
  EXPECT_EQ(Run(keeper), "the agent powered it off: its job has ended");
  EXPECT_EQ(Read("runs"), "x\nx\nx\n");
  EXPECT_TRUE(StartsWith(Read("log"), "yes " + dir_.path() + "\n")) << Read("log");
  EXPECT_EQ(said_,
            (std::vector<std::string>{"the agent failed with 3", "the agent died of signal 9"}));
  EXPECT_TRUE(keeper.End());
}

TEST_F(AgentKeeperTest, NothingOfADeadAgentRunsBesideTheNext) {
  AgentKeeper keeper = Keep(
      "if test -e left; then grep -q '^State:.[RSD]' /proc/$(cat left)/status 2> /dev/null && echo "
      "alive > beside; exit 0; fi; "
      "setsid sleep 1000 & echo $! > left; exit 1");
  EXPECT_EQ(Run(keeper), "the agent powered it off");
  EXPECT_NE(Read("left"), "");
  EXPECT_EQ(Read("beside"), "");
}

TEST_F(AgentKeeperTest, EndsAllThatTheAgentHasStarted) {
  AgentKeeper keeper = Keep("setsid sleep 1000 & echo $! > left; sleep 1000");
  keeper.Start();
  EXPECT_NE(keeper.pid(), 0);
  while (Read("left").empty()) usleep(2000);
  EXPECT_TRUE(keeper.End());
  EXPECT_EQ(keeper.pid(), 0);
  EXPECT_TRUE(MarkedProcesses(kInstanceMark, dir_.path()).empty());
}

TEST_F(AgentKeeperTest, SaysWhatDoesNotStart) {
  AgentConfig facts;
  facts.dir = dir_.path();
  facts.program = dir_.path() + "/nothing";
  facts.argv = {"nothing"};
  AgentKeeper keeper(facts, [this](const std::string& line) { said_.push_back(line); });
  const int64_t before = BootMs();
  keeper.Start();
  ASSERT_EQ(said_.size(), 1u);
  EXPECT_TRUE(StartsWith(said_[0], "the agent does not start: ")) << said_[0];
  EXPECT_EQ(keeper.pid(), 0);
  EXPECT_GT(keeper.restart_at(), before);
}

}  // namespace
}  // namespace stoker

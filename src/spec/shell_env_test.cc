// SPDX-License-Identifier: Apache-2.0
#include "spec/text/shell_env.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "base/text.h"
#include "spec/text/env_text.h"

namespace stoker {
namespace {

// The names in the table of the section "Your shell".
std::set<std::string> NamesOfThePage() {
  std::ifstream in("docs/environment.md");
  EXPECT_TRUE(in.good()) << "tests run in the repository's root, which has docs/environment.md";
  std::stringstream text;
  text << in.rdbuf();
  std::set<std::string> names;
  bool inside = false;
  for (const std::string& line : Split(text.str(), '\n')) {
    if (StartsWith(line, "## ")) inside = line == "## Your shell";
    if (!inside || !StartsWith(line, "| ")) continue;
    const std::vector<std::string> parts = Split(line, '`');
    for (size_t i = 1; i < parts.size(); i += 2) names.insert(parts[i]);
  }
  return names;
}

TEST(ShellEnv, ThePageListsWhatIsTaken) {
  const auto& taken = DefaultShellNames();
  EXPECT_EQ(std::set<std::string>(taken.begin(), taken.end()), NamesOfThePage());
}

TEST(ShellEnv, Choice) {
  const auto choice = ReadShellChoice("");
  ASSERT_TRUE(choice.ok());
  for (const char* name : {"CUDA_VISIBLE_DEVICES", "NCCL_DEBUG", "HF_HOME", "https_proxy"}) {
    EXPECT_TRUE(choice->Takes(name)) << name;
  }
  for (const char* name : {"PATH", "HOME", "HF_TOKEN", "HF_HUB_TOKEN", "WANDB_API_KEY", "TF_CONFIG",
                           "MASTER_ADDR", "RANK", "STOKER_X", "BASH_FUNC_x%%"}) {
    EXPECT_FALSE(choice->Takes(name)) << name;
  }
  const auto other = ReadShellChoice("none  MY_* -MY_OWN");
  ASSERT_TRUE(other.ok());
  EXPECT_TRUE(other->Takes("MY_X"));
  EXPECT_FALSE(other->Takes("MY_OWN"));
  EXPECT_FALSE(other->Takes("NCCL_DEBUG"));
  EXPECT_TRUE(ReadShellChoice("*")->Takes("ANY"));
  for (const char* wrong : {"A-B", "-", "A=1", "--x"}) EXPECT_FALSE(ReadShellChoice(wrong).ok());
}

TEST(EnvText, Patterns) {
  EXPECT_TRUE(MatchesName("HF_*", "HF_HOME"));
  EXPECT_TRUE(MatchesName("*_T?KEN*", "A_TOKEN_B"));
  EXPECT_FALSE(MatchesName("HF_*", "XHF_"));
  EXPECT_FALSE(MatchesName("A?", "A"));
  EXPECT_FALSE(MatchesName("*a*b", "aabc"));
}

TEST(EnvText, AsPeopleWriteThem) {
  const EnvText read = ParseEnvText(
      "# c\n\nA=1 # one\nexport B=\"two\\n\\\"q\\\"\" # c\nC='x $y'\nD\nE=a#b\r\n1F=2\nG=\n",
      EnvStyle::kDotenv);
  ASSERT_EQ(read.lines.size(), 6U);
  EXPECT_EQ(read.lines[0].value, "1");
  EXPECT_EQ(read.lines[1].value, "two\n\"q\"");
  EXPECT_EQ(read.lines[2].value, "x $y");
  EXPECT_EQ(read.lines[3].value, std::nullopt);
  EXPECT_EQ(read.lines[4].value, "a#b");
  EXPECT_EQ(read.lines[5].value, "");
  EXPECT_EQ(read.mistakes, std::vector<std::string>{"line 8: is not NAME=VALUE"});
}

}  // namespace
}  // namespace stoker

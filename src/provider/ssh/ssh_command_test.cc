// SPDX-License-Identifier: Apache-2.0
#include "provider/ssh/ssh_command.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/digest.h"
#include "base/text.h"
#include "spec/text/host_words.h"
#include "sys/command.h"
#include "sys/file.h"

namespace stoker {
namespace {

TEST(SshCommand, AHostIsNoOptionAndNothingForAShell) {
  for (const char* word : {"box", "user@box", "10.0.0.7", "a-b.example.org", "fe80::1", "u_1@b"}) {
    EXPECT_TRUE(IsHostWord(word)) << word;
  }
  for (const char* word : {"",
                           "-oProxyCommand=x",
                           "u@-oProxyCommand=x",
                           "-l@box",
                           "a b",
                           "a;b",
                           "$(x)",
                           "a'b",
                           "@box",
                           "box@",
                           "a@b@c",
                           "../x",
                           "a/b",
                           "a\nb",
                           "`x`",
                           "*",
                           "~",
                           ".hidden",
                           "a\"b",
                           "\x80"}) {
    EXPECT_FALSE(IsHostWord(word)) << word;
  }
  EXPECT_FALSE(IsHostWord(std::string("a\0b", 3)));
  EXPECT_FALSE(IsHostWord(std::string(300, 'a')));
}

TEST(SshCommand, AsksNothingForwardsNothingAndChecksHostKeysAsTheUserSays) {
  const std::vector<std::string> words = SshWords("user@box", "true");
  const std::string all = Join(words, " ");
  EXPECT_NE(all.find("BatchMode=yes"), std::string::npos);
  EXPECT_EQ(all.find("StrictHostKeyChecking"), std::string::npos);
  const auto end = std::find(words.begin(), words.end(), "--");
  ASSERT_EQ(words.end() - end, 3);
  EXPECT_EQ(end[1], "user@box");
  EXPECT_EQ(end[2], "true");
}

// The script itself, by the shells that are here, as sshd would have the login shell run it.
class BoxScript : public testing::TestWithParam<const char*> {
 protected:
  struct Ran {
    int code;
    std::string out;
  };
  Ran Run(const BoxBinary& binary, const std::string& input) {
    const std::string file = dir_.path() + "/input";
    EXPECT_TRUE(sys::WriteFileAtomic(file, input).ok());
    sys::Command command;
    command.argv = {GetParam(), "-c", BoxCommand(binary)};
    command.env = {"HOME=" + dir_.path() + "/ho me", "PATH=/usr/bin:/bin"};
    command.input = file;
    const auto ran = sys::RunCommands({command}, 20'000)[0];
    EXPECT_TRUE(ran.ok()) << ran.status().ToString();
    return {ran->exit_code, ran->out};
  }
  static BoxBinary Of(const std::string& program) {
    return {Sha256Hex(program), static_cast<int64_t>(program.size())};
  }
  sys::TempDir dir_ = *sys::TempDir::Make("box-script");
};

constexpr char kProgram[] = "#!/bin/sh\necho \"ran $1 $2\"\n";

TEST_P(BoxScript, BringsWhatIsMissingOnce) {
  ASSERT_TRUE(sys::MakeDirs(dir_.path() + "/ho me").ok());
  const std::string ran = "ran __box " + dir_.path() + "/ho me/.local/share/stoker\n";
  const Ran first = Run(Of(kProgram), kProgram);
  EXPECT_EQ(first.code, 0) << first.out;
  EXPECT_TRUE(StartsWith(first.out, "stoker-box missing Linux ")) << first.out;
  EXPECT_TRUE(EndsWith(first.out, "\nstoker-box ready\n" + ran)) << first.out;
  EXPECT_EQ(Run(Of(kProgram), "").out, "stoker-box ready\n" + ran);
}

TEST_P(BoxScript, WhatArrivesDamagedIsNeverRun) {
  ASSERT_TRUE(sys::MakeDirs(dir_.path() + "/ho me").ok());
  for (const std::string& bad :
       {std::string(), std::string("#!/bin/sh\necho evil"), std::string(kProgram).substr(0, 9)}) {
    const Ran ran = Run(Of(kProgram), bad);
    EXPECT_NE(ran.code, 0);
    EXPECT_NE(ran.out.find("stoker-box failed copying"), std::string::npos) << ran.out;
    EXPECT_EQ(ran.out.find("ready"), std::string::npos) << ran.out;
  }
  const std::string bin = dir_.path() + "/ho me/.local/share/stoker/bin/" + Of(kProgram).sha256;
  EXPECT_TRUE(sys::ListDir(bin)->empty());
}

INSTANTIATE_TEST_SUITE_P(Shells, BoxScript, testing::Values("/bin/sh", "/bin/bash"),
                         [](const auto& each) {
                           return std::string(each.param).substr(std::string("/bin/").size());
                         });

}  // namespace
}  // namespace stoker

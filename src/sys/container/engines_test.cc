// SPDX-License-Identifier: Apache-2.0
#include "sys/container/engines.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "sys/container/groups_left.h"
#include "sys/file.h"

namespace stoker {
namespace {

// A client of an engine that is a script, which notes the first word that it is told.
class FakeEngine : public ::testing::Test {
 protected:
  void SetUp() override {
    auto made = sys::TempDir::Make("engine");
    ASSERT_TRUE(made.ok());
    dir_ = std::make_unique<sys::TempDir>(std::move(*made));
  }
  EngineFacts Engine(const std::string& script) {
    const std::string path = dir_->path() + "/podman";
    const std::string note = "echo $1 >>" + dir_->path() + "/asked\n";
    EXPECT_TRUE(sys::WriteFileAtomic(path, "#!/bin/sh\n" + note + script).ok());
    EXPECT_EQ(chmod(path.c_str(), 0755), 0);
    return {EngineKind::kPodman, path, "4.3.1", false};
  }
  std::string Asked() { return sys::ReadFile(dir_->path() + "/asked").value_or(""); }
  std::unique_ptr<sys::TempDir> dir_;
};

TEST_F(FakeEngine, IsNotAskedWhereNoTimeIsLeft) {
  EXPECT_TRUE(RemoveContainers(Engine("exit 0"), "/o", 0).Is(Code::kTimeout));
  EXPECT_EQ(Asked(), "");
}

TEST_F(FakeEngine, ThatHangsIsAskedNothingMoreOnceTheTimeIsOver) {
  const auto engine = Engine("[ $1 = ps ] && echo c1 || exec sleep 600");
  EXPECT_TRUE(RemoveContainers(engine, "/o", 2000).Is(Code::kTimeout));
  EXPECT_TRUE(Asked() == "ps\nrm\n" || Asked() == "ps\n") << Asked();
}

TEST_F(FakeEngine, ThatFailsOnceIsAskedAgain) {
  const std::string flag = dir_->path() + "/flag";
  const auto engine = Engine("[ $1 = ps ] && echo c1 && exit\n[ -e " + flag + " ] && exit\n: >" +
                             flag + "\nexit 1");
  EXPECT_TRUE(RemoveContainers(engine, "/o").ok());
  EXPECT_EQ(Asked(), "ps\nrm\nrm\n");
}

TEST_F(FakeEngine, ThatDoesNotAnswerInTimeMayAnswerLater) {
  (void)Engine("exec sleep 600");
  const std::string before = getenv("PATH");
  setenv("PATH", (dir_->path() + ":/usr/bin:/bin").c_str(), 1);
  const auto chosen = ChooseEngine("podman", 300);
  setenv("PATH", before.c_str(), 1);
  EXPECT_TRUE(chosen.status().Is(Code::kUnavailable)) << chosen.status().ToString();
  EXPECT_EQ(chosen.status().message(), "podman: no answer in 300 ms");
}

TEST(GroupsLeft, EmptyOnesOfThatContainerGo) {
  auto folder = sys::TempDir::Make();
  ASSERT_TRUE(folder.ok());
  const std::string id(64, 'a'), other(64, 'b'), root = folder->path();
  for (const std::string& one : {"/memory/libpod-" + id + "/sub", "/pids/libpod-" + id,
                                 "/memory/libpod-" + other, "/docker/" + id}) {
    ASSERT_TRUE(sys::MakeDirs(root + one).ok());
  }
  ASSERT_TRUE(sys::WriteFileAtomic(root + "/docker/" + id + "/busy", "").ok());
  RemoveGroupsOf(id.substr(1), root);
  EXPECT_TRUE(sys::DirExists(root + "/pids/libpod-" + id)) << "not the whole id";
  RemoveGroupsOf(id, root);
  EXPECT_FALSE(sys::FileExists(root + "/memory/libpod-" + id));
  EXPECT_FALSE(sys::FileExists(root + "/pids/libpod-" + id));
  EXPECT_TRUE(sys::DirExists(root + "/memory/libpod-" + other));
  EXPECT_TRUE(sys::DirExists(root + "/docker/" + id)) << "something is in it";
}

}  // namespace
}  // namespace stoker

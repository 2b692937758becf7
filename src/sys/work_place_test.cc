// SPDX-License-Identifier: Apache-2.0
#include "sys/work_place.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace stoker::sys {
namespace {

class WorkPlaceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto made = TempDir::Make();
    ASSERT_TRUE(made.ok());
    root_ = std::make_unique<TempDir>(std::move(*made));
    for (const char* machine : {"one", "two"}) {
      ASSERT_TRUE(MakeDirs(Machine(machine) + "/work").ok());
    }
  }
  std::string Machine(const std::string& name) const { return root_->path() + "/machines/" + name; }
  std::string Path() const { return root_->path() + "/work/abcd-0"; }
  std::string Lock() const { return Path() + ".lock"; }
  auto Take(const std::string& machine) const { return WorkPlace::Take(Path(), Machine(machine)); }
  // As an attempt does, which extracts its code there.
  void Work(const std::string& file) const {
    ASSERT_TRUE(MakeDirs(Path()).ok());
    ASSERT_TRUE(WriteFileAtomic(Path() + "/" + file, "x").ok());
  }
  void WriteHolder(const WorkHolder& holder) const {
    ASSERT_TRUE(MakeDirs(root_->path() + "/work").ok());
    ASSERT_TRUE(WriteFileAtomic(Lock(), EncodeWorkHolder(holder)).ok());
  }

  std::unique_ptr<TempDir> root_;
};

TEST_F(WorkPlaceTest, OneAfterTheOther) {
  auto first = Take("one");
  ASSERT_TRUE(first.ok()) << first.status().ToString();
  EXPECT_EQ((*first)->path(), Path());
  EXPECT_EQ(WorkOf(Machine("one")), Path());
  Work("a");
  const auto early = Take("two");
  EXPECT_TRUE(early.status().Is(Code::kBusy));
  EXPECT_NE(early.status().message().find("another attempt on this machine"), std::string::npos);
  EXPECT_EQ(WorkOf(Machine("two")), Machine("two") + "/work");
  EXPECT_TRUE(ForgetWork(Machine("one")).Is(Code::kBusy));
  EXPECT_TRUE(FileExists(Path() + "/a"));
  first->reset();
  EXPECT_TRUE(FileExists(Machine("one") + "/work/a"));  // where its machine keeps it
  const auto second = Take("two");
  ASSERT_TRUE(second.ok()) << second.status().ToString();
  EXPECT_FALSE(FileExists(Path() + "/a"));
}

TEST_F(WorkPlaceTest, GoesWithTheMachine) {
  {
    const auto place = Take("one");
    ASSERT_TRUE(place.ok());
  }
  EXPECT_TRUE(ListDir(root_->path() + "/work")->empty());  // nothing was ever there
  // Killed: the kernel lets go, and the files stay.
  WriteHolder({Hostname(), BootId(), Machine("one")});
  Work("a");
  ASSERT_TRUE(RemoveTree(Machine("one") + "/work").ok());
  ASSERT_EQ(symlink(Path().c_str(), (Machine("one") + "/work").c_str()), 0);
  EXPECT_FALSE(ClearWorkPlace(Lock(), false, false)) << "its machine is there";
  EXPECT_TRUE(ForgetWork(Machine("one")).ok());
  EXPECT_TRUE(ListDir(root_->path() + "/work")->empty());
  // And its machine, too.
  WriteHolder({Hostname(), BootId(), Machine("gone")});
  Work("a");
  EXPECT_TRUE(ClearWorkPlace(Lock(), false, true));
  EXPECT_TRUE(FileExists(Path() + "/a"));
  EXPECT_TRUE(ClearWorkPlace(Lock(), false, false));
  EXPECT_TRUE(ListDir(root_->path() + "/work")->empty());
}

TEST_F(WorkPlaceTest, WhatADeadAttemptLeftIsNobodys) {
  WriteHolder({Hostname(), BootId(), Machine("one")});
  Work("a");
  const auto next = Take("two");
  ASSERT_TRUE(next.ok()) << next.status().ToString();
  EXPECT_FALSE(FileExists(Path()));
  // The dead one's machine does not clear away what is another's by now.
  ASSERT_TRUE(RemoveTree(Machine("one") + "/work").ok());
  ASSERT_EQ(symlink(Path().c_str(), (Machine("one") + "/work").c_str()), 0);
  Work("b");
  EXPECT_TRUE(ForgetWork(Machine("one")).ok());
  EXPECT_TRUE(FileExists(Path() + "/b"));
}

TEST_F(WorkPlaceTest, ProcessesHoldIt) {
  int go[2];
  ASSERT_EQ(pipe(go), 0);
  const pid_t agent = fork();
  if (agent == 0) {
    close(go[1]);
    const auto place = Take("one");
    const bool taken = place.ok();
    if (taken && fork() == 0) {  // its task
      char byte;
      (void)!read(go[0], &byte, 1);
      _exit(0);
    }
    _exit(taken ? 0 : 1);  // as when it is killed: nothing is given back
  }
  close(go[0]);
  int status = 0;
  ASSERT_EQ(waitpid(agent, &status, 0), agent);
  ASSERT_EQ(status, 0);
  EXPECT_TRUE(Take("two").status().Is(Code::kBusy));
  close(go[1]);
  auto place = Take("two");
  for (int i = 0; i < 1000 && place.status().Is(Code::kBusy); ++i) {
    usleep(10'000);
    place = Take("two");
  }
  EXPECT_TRUE(place.ok()) << place.status().ToString();
}

TEST(WorkHolder, WhoIsGone) {
  const WorkHolder here{"a", "boot", "/m"};
  EXPECT_EQ(ParseWorkHolder(EncodeWorkHolder(here))->boot, "boot");
  EXPECT_EQ(ParseWorkHolder(EncodeWorkHolder(here))->folder, "/m");
  for (const char* half : {"", "a\n", "a\nboot\n", "a\nboot\n/m"}) {
    EXPECT_FALSE(ParseWorkHolder(half)) << half;
  }
  EXPECT_TRUE(IsGone(here, "boot", false));
  EXPECT_TRUE(IsGone(here, "later", true));
  EXPECT_TRUE(IsGone(std::nullopt, "boot", true));
  // The kernel of another host, or of a boot before, does not say on a disk that is shared.
  EXPECT_FALSE(IsGone(here, "other", false));
  EXPECT_FALSE(IsGone(std::nullopt, "boot", false));
  EXPECT_FALSE(IsGone(WorkHolder{"a", "", "/m"}, "", false));
}

}  // namespace
}  // namespace stoker::sys

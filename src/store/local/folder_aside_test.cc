// SPDX-License-Identifier: Apache-2.0
// A file and a folder that change places: what stood there makes way, and has its name back where
// the copy fails or its run is killed.
#include "store/local/folder_aside.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <map>

#include "store/local/folder_side.h"
#include "sys/file.h"
#include "sys/real_clock.h"
#include "transfer/transfer.h"

namespace stoker {
namespace {

using Tree = std::map<std::string, std::string>;  // by path: content, "-> target", "/" of a folder

class NoJournal : public Journal {
 public:
  Result<std::vector<std::string>> Lines() override { return std::vector<std::string>(); }
  Status Add(const std::string&) override { return Status::Ok(); }
  Status Settle() override { return Status::Ok(); }
  Status Replace(const std::vector<std::string>&) override { return Status::Ok(); }
};

class FolderAside : public ::testing::Test {
 protected:
  void Make(const std::string& root, const Tree& tree) {
    for (const auto& [path, text] : tree) {
      const std::filesystem::path at = temp_.path() + "/" + root + "/" + path;
      std::filesystem::create_directories(text == "/" ? at : at.parent_path());
      if (text.rfind("-> ", 0) == 0) {
        std::filesystem::create_symlink(text.substr(3), at);
      } else if (text != "/") {
        ASSERT_TRUE(sys::WriteFileAtomic(at.string(), text, 0644, false).ok());
      }
    }
  }
  Tree Read(const std::string& root) {
    Tree tree;
    const std::string top = temp_.path() + "/" + root;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(top)) {
      const std::string path = entry.path().string().substr(top.size() + 1);
      if (entry.is_symlink()) {
        tree[path] = "-> " + std::filesystem::read_symlink(entry.path()).string();
      } else if (!entry.is_directory()) {
        tree[path] = sys::ReadFile(entry.path().string()).value_or("?");
      } else if (std::filesystem::is_empty(entry.path())) {
        tree[path] = "/";
      }
    }
    return tree;
  }
  // As `stoker sync from to --delete`. `broken`: a file of the source that changes meanwhile.
  TransferReport Sync(const std::string& broken = "", const std::string& excluded = "") {
    const auto from = *FolderSide::Open(temp_.path() + "/from", true);
    const auto to = *FolderSide::Open(temp_.path() + "/to", false);
    to->Recover();
    TransferLists lists = *ListSides(*from, *to);
    for (ObjectInfo& file : lists.source.objects) {
      if (file.key == broken) file.version = "another";
    }
    PlanRules rules = RulesFor(*from, *to);
    rules.remove = true;
    rules.taken = [&](const std::string& key) { return key != excluded; };
    const SyncPlan plan = PlanSync(lists.source, lists.target, {}, rules);
    NoJournal journal;
    SyncMemory memory(journal, "");
    Alone crew;
    RealClock clock;
    return RunTransfer({*from, *to, memory, crew, clock}, plan, {});
  }
  // Both ways to say the same; then nothing is left to do.
  void Becomes(const Tree& from, const Tree& to, int64_t removed) {
    Make("from", from);
    Make("to", to);
    EXPECT_EQ(Sync().removed, removed);
    EXPECT_EQ(Read("to"), from);
    const TransferReport again = Sync();
    EXPECT_EQ(again.files + again.removed + static_cast<int64_t>(again.failed.size()), 0);
    for (const char* root : {"/from", "/to"})
      ASSERT_TRUE(sys::RemoveTree(temp_.path() + root).ok());
  }

  sys::TempDir temp_ = sys::TempDir::Make("aside").value();
};

TEST_F(FolderAside, AFileAndAFolderChangePlaces) {
  Becomes({{"x/y", "1"}, {"x/z", "2"}, {"same", "s"}}, {{"x", "old"}}, 1);
  Becomes({{"x", "new"}}, {{"x/y", "1"}, {"x/d/z", "2"}}, 2);
  Becomes({{"p/x/q/y", "1"}, {"r/s", "f"}}, {{"p/x", "old"}, {"r/s/t/u", "2"}}, 2);
  Becomes({{"x", "new"}}, {{"x/empty", "/"}}, 1);
  Becomes({{"x/y", "1"}}, {{"x", "-> /etc"}}, 1);
  Becomes({{"x/y", "1"}}, {{"x", "-> nowhere"}}, 1);
  Becomes({{"x", "1"}}, {{"x/link", "-> /etc"}, {"x/y", "2"}}, 1);
  Becomes({{"x", "1"}}, {{"x", "-> /etc/hostname"}}, 0);
}

TEST_F(FolderAside, WhatIsExcludedStays) {
  Make("from", {{"x", "new"}});
  Make("to", {{"x/keep", "mine"}, {"x/y", "1"}});
  const Tree before = Read("to");
  const TransferReport report = Sync("", "x/keep");
  ASSERT_EQ(report.failed.size(), 1u);
  EXPECT_EQ(report.failed[0].why.code(), Code::kExists);
  EXPECT_EQ(Read("to"), before);
}

TEST_F(FolderAside, HasItsNameBackWhereTheCopyFails) {
  Make("from", {{"x/y", "1"}, {"x/z", "2"}, {"d", "new"}, {"w", "whole"}, {"v/a", "3"}});
  Make("to", {{"x", "old"}, {"d/e", "f"}, {"v", "other"}});
  EXPECT_EQ(Sync("x/z").failed.size(), 1u);
  EXPECT_EQ(Read("to"), (Tree{{"x", "old"}, {"d", "new"}, {"w", "whole"}, {"v/a", "3"}}));
  EXPECT_EQ(Sync("").failed.size(), 0u);
  EXPECT_EQ(Read("to"), Read("from"));
  Make("from2", {{"d/e", "1"}});
  ASSERT_TRUE(sys::RemoveTree(temp_.path() + "/from").ok());
  std::filesystem::rename(temp_.path() + "/from2", temp_.path() + "/from");
  EXPECT_EQ(Sync("d/e").failed.size(), 1u);
  EXPECT_EQ(Read("to").at("d"), "new");
}

TEST_F(FolderAside, WhatAKilledRunHasLeftIsKnown) {
  const std::string aside = folder::AsideName("x");
  EXPECT_EQ(folder::NameOfAside(aside), "x");
  EXPECT_EQ(folder::NameOfAside("x.0123456789abcdef.stoker-aside"), "") << "somebody's own";
  EXPECT_EQ(folder::AsideName(std::string(250, 'n')), "");
  // Before anything was written: it has its name back, and is part of what is compared.
  Make("from", {{"x/y", "1"}});
  Make("to", {{aside, "old"}});
  EXPECT_EQ(Sync("x/y").failed.size(), 1u);
  EXPECT_EQ(Read("to"), (Tree{{"x", "old"}}));
  // In the middle: it goes once the copy is whole, and stays until then.
  Make("from", {{"x/z", "2"}});
  ASSERT_TRUE(sys::RemoveTree(temp_.path() + "/to").ok());
  Make("to", {{aside + "/old", "old"}, {"x/z", "2"}});
  EXPECT_EQ(Sync("x/y").failed.size(), 1u);
  EXPECT_EQ(Read("to").count(aside + "/old"), 1u);
  EXPECT_EQ(Sync().removed, 1);
  EXPECT_EQ(Read("to"), Read("from"));
}

}  // namespace
}  // namespace stoker

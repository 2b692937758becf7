// SPDX-License-Identifier: Apache-2.0
#include "node/env/setup/setup_cache.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sys/file.h"

namespace stoker::node {
namespace {

class SetupCache : public ::testing::Test {
 protected:
  void SetUp() override {
    auto made = sys::TempDir::Make("setup");
    ASSERT_TRUE(made.ok());
    temp_ = std::make_unique<sys::TempDir>(std::move(*made));
    for (const std::string& folder : {Work("a"), Work("b"), Env() + "/lib"}) {
      ASSERT_TRUE(sys::MakeDirs(folder).ok());
    }
    spec_.setup = "make -C native $WHAT";
    spec_.setup_cache = std::vector<std::string>{"native"};
    Write(Work("a") + "/native/Makefile", "all:");
    Write(Work("a") + "/data.txt", "packed");
  }
  std::string Work(const std::string& name) const { return temp_->path() + "/" + name; }
  std::string Env() const { return temp_->path() + "/env"; }
  static void Write(const std::string& path, const std::string& text) {
    ASSERT_TRUE(sys::MakeDirs(path.substr(0, path.rfind('/'))).ok());
    ASSERT_TRUE(sys::WriteFileAtomic(path, text).ok());
  }
  std::string Key() const { return SetupKey(spec_, Work("a"), 0).value_or("none"); }
  Result<SetupResult> Keep(const contract::Environment& variables = {}) {
    return KeepSetup(Env(), "k", Work("a"), before_, variables);
  }

  std::unique_ptr<sys::TempDir> temp_;
  JobSpec spec_;
  SeenFolder before_;
};

TEST_F(SetupCache, KeyIsOfTheTextItsFilesAndWhatTheyName) {
  const std::string key = Key();
  EXPECT_EQ(Key(), key);
  spec_.envs = {{"LR", "0.1"}};
  EXPECT_EQ(Key(), key);  // nobody names it
  spec_.envs = {{"WHAT", "all"}};
  EXPECT_NE(Key(), key);
  spec_.envs.clear();
  Write(Work("a") + "/other.txt", "x");
  EXPECT_EQ(Key(), key);
  Write(Work("a") + "/native/Makefile", "all: $(ARCH) $${NODE_RANK}");
  const std::string changed = Key();
  EXPECT_NE(changed, key);
  EXPECT_NE(SetupKey(spec_, Work("a"), 1).value_or(""), changed);
  spec_.envs = {{"ARCH", "sm_90"}};
  EXPECT_NE(Key(), changed);
  ASSERT_EQ(chmod((Work("a") + "/native/Makefile").c_str(), 0755), 0);
  EXPECT_NE(Key(), changed);
  spec_.setup_cache = std::vector<std::string>{"natvie"};
  EXPECT_EQ(SetupKey(spec_, Work("a"), 0).code(), Code::kInvalid);
}

TEST_F(SetupCache, BringsBackWhatSetupMadeChangedAndRemoved) {
  before_ = SeeFolder(Work("a")).value_or({});
  Write(Work("a") + "/native/lib.so", "built");
  Write(Work("a") + "/data.txt", "changed");
  ASSERT_EQ(unlink((Work("a") + "/native/Makefile").c_str()), 0);
  ASSERT_EQ(symlink("lib.so", (Work("a") + "/native/lib.so.1").c_str()), 0);
  ASSERT_TRUE(sys::MakeDirs(Work("a") + "/empty").ok());
  const auto kept = Keep({{"LD_LIBRARY_PATH", Work("a") + "/native:/usr/lib:" + Work("a") + "x"}});
  ASSERT_TRUE(kept.ok()) << kept.status().ToString();
  EXPECT_EQ(kept->files, 3);
  Write(Work("b") + "/native/Makefile", "all:");
  Write(Work("b") + "/data.txt", "packed");
  const auto used = UseSetup(Env(), "k", Work("b"));
  ASSERT_TRUE(used.ok() && used->has_value());
  EXPECT_EQ(sys::ReadFile(Work("b") + "/native/lib.so.1").value_or(""), "built");
  EXPECT_EQ(sys::ReadFile(Work("b") + "/data.txt").value_or(""), "changed");
  EXPECT_FALSE(sys::FileExists(Work("b") + "/native/Makefile"));
  EXPECT_TRUE(sys::DirExists(Work("b") + "/empty"));
  EXPECT_EQ((*used)->variables,
            (contract::Environment{
                {"LD_LIBRARY_PATH", Work("b") + "/native:/usr/lib:" + Work("a") + "x"}}));
  EXPECT_FALSE(UseSetup(Env(), "another", Work("b"))->has_value());
}

TEST_F(SetupCache, HalfAOneIsNone) {
  before_ = SeeFolder(Work("a")).value_or({});
  Write(Work("a") + "/made", "12345");
  ASSERT_TRUE(Keep().ok());
  Write(Env() + "/.stoker-setup/files/made", "123");
  EXPECT_FALSE(UseSetup(Env(), "k", Work("b"))->has_value());
  ASSERT_TRUE(Keep().ok());  // of a former one nothing stays
  EXPECT_TRUE(UseSetup(Env(), "k", Work("b"))->has_value());
  ASSERT_EQ(unlink((Env() + "/.stoker-setup/left.json").c_str()), 0);
  EXPECT_FALSE(UseSetup(Env(), "k", Work("b"))->has_value());
}

TEST_F(SetupCache, APathWithALinkIsTheOneBehindIt) {
  ASSERT_EQ(symlink(Work("a").c_str(), Work("link").c_str()), 0);
  before_ = SeeFolder(Work("a")).value_or({});
  ASSERT_TRUE(
      KeepSetup(Env(), "k", Work("link"), before_, {{"A", Work("link")}, {"B", Work("a")}}).ok());
  const auto used = UseSetup(Env(), "k", Work("b"));
  ASSERT_TRUE(used.ok() && used->has_value());
  EXPECT_EQ((*used)->variables, (contract::Environment{{"A", Work("b")}, {"B", Work("b")}}));
  Write(Env() + "/lib/python3.11/site-packages/mine.pth", Work("a") + "\n");
  EXPECT_EQ(KeepSetup(Env(), "k", Work("link"), before_, {}).code(), Code::kInvalid);
}

TEST_F(SetupCache, TheWorkDirectoryInstalledForEditingIsNotKept) {
  Write(Env() + "/lib/python3.11/site-packages/__editable__.mine-0.1.pth", Work("a") + "/src\n");
  EXPECT_EQ(Keep().code(), Code::kInvalid);
}

}  // namespace
}  // namespace stoker::node

// SPDX-License-Identifier: Apache-2.0
// Environments that go into a store and come back elsewhere.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "base/prng.h"
#include "ledger/paths.h"
#include "node/env/kept/env_keeper.h"
#include "node/env/kept/env_parts.h"
#include "node/env/kept/take_env.h"
#include "store/local/local_store.h"
#include "sys/file.h"
#include "test/kit/faulty.h"
#include "test/kit/memory_store.h"

namespace stoker::node {
namespace {

const std::string kKey(64, 'a');
constexpr char kPackages[] = "/lib/python3.11/site-packages";

class KeptTest : public ::testing::Test {
 protected:
  std::string At(const std::string& name) const { return dir_.path() + "/" + name; }
  void Write(const std::string& path, const std::string& text, mode_t mode = 0644) {
    ASSERT_TRUE(sys::MakeDirs(path.substr(0, path.rfind('/'))).ok());
    ASSERT_TRUE(sys::WriteFileAtomic(path, text, mode, false).ok());
  }
  // As uv makes them.
  std::string Build(const std::string& name, bool noted = true) {
    std::string folder = At(name);
    Write(folder + "/pyvenv.cfg", "home = /usr/bin\nversion_info = 3.11.2\nrelocatable = true\n");
    Write(folder + "/bin/tool", "#!/bin/sh\nexec python\n", 0755);
    EXPECT_EQ(::symlink("/usr/bin/python3", (folder + "/bin/python").c_str()), 0);
    EXPECT_EQ(::symlink("python", (folder + "/bin/python3").c_str()), 0);
    EXPECT_EQ(::symlink("lib", (folder + "/lib64").c_str()), 0);
    Write(folder + kPackages + "/six.py", "x = 1\n");
    Write(folder + kPackages + "/__pycache__/six.pyc", "code");
    Write(folder + kPackages + "/torch/__init__.py", "");
    Write(folder + kPackages + "/torch/big.so", std::string(kLargePackage + 1, 't'));
    Write(folder + kPackages + "/nvidia/__init__.py", "");
    if (huge_) Write(folder + kPackages + "/nvidia/lib/huge.so", std::string(kLargeFile + 1, 'n'));
    if (noted) Note(folder);
    return folder;
  }
  void Note(const std::string& folder, const std::string& damaged = "") {
    EXPECT_TRUE(WriteEnvNote(folder, {kKey, StampOf(*SeeEnv(folder)), damaged}).ok());
  }
  Status Keep(ObjectStore& store, const std::string& folder) {
    KeepEnv what{folder, dir_.path(), [this](const std::string& line) { said_ += line + "\n"; },
                 [](const std::string& text) { return text.find("hunter2") != std::string::npos; },
                 passing_};
    return KeepNotedEnv(store, what, [this] { return stopped_.load(); });
  }
  Result<TakenEnv> Take(ObjectStore& store, const std::string& folder, Status check = {}) {
    const EnvTaker taker{store, [] { return false; },
                         [this](const std::string& line) { said_ += line + "\n"; },
                         [check](const std::string&) { return check; }};
    return TakeEnv(taker, kKey, folder, "/opt/py/bin/python3");
  }
  // What makes it the same: paths, kinds, sizes.
  static std::string Shape(const std::string& folder) {
    std::string shape;
    const EnvTree tree = *SeeEnv(folder);
    for (const auto& [path, entry] : tree) {
      shape += path + " " + std::to_string(entry.mode & S_IFMT) + " " +
               std::to_string(S_ISREG(entry.mode) && path != "pyvenv.cfg" ? entry.size : 0) + "\n";
    }
    return shape;
  }
  std::vector<std::string> Keys() { return memory_.ListKeys(paths::Envs()).value(); }

  sys::TempDir dir_ = sys::TempDir::Make("stoker-kept-test").value();
  MemoryStore memory_;
  std::string said_;
  std::atomic<bool> stopped_{false};
  bool passing_ = false;
  bool huge_ = false;  // with a file that is a part of its own
};

TEST_F(KeptTest, GoesInAndComesOutElsewhere) {
  huge_ = true;
  const std::string built = Build("built");
  ASSERT_TRUE(Keep(memory_, built).ok()) << said_;
  EXPECT_EQ(Keys().size(), 5U) << "three parts, a manifest, a mark";
  EXPECT_EQ(ReadEnvNote(built)->stamp, kKeptStamp);
  const std::string other = At("a longer path, with spaces");
  const auto taken = Take(memory_, other);
  ASSERT_TRUE(taken.ok() && taken->taken) << said_;
  EXPECT_EQ(Shape(other), Shape(built));
  EXPECT_EQ(*sys::ReadFile(other + kPackages + "/six.py"), "x = 1\n");
  EXPECT_FALSE(sys::DirExists(other + kPackages + "/__pycache__"));
  EXPECT_FALSE(sys::DirExists(other + "/.stoker-parts"));
  char link[64] = {};
  EXPECT_GT(::readlink((other + "/bin/python").c_str(), link, sizeof link - 1), 0);
  EXPECT_STREQ(link, "/opt/py/bin/python3");
  EXPECT_EQ(*sys::ReadFile(other + "/pyvenv.cfg"),
            "home = /opt/py/bin\nversion_info = 3.11.2\nrelocatable = true\n");
  EXPECT_NE(said_.find("comes from the store"), std::string::npos) << said_;
}

TEST_F(KeptTest, TheSameFilesAreTheSamePartsWhereverTheyLie) {
  huge_ = true;
  const std::vector<PartPlan> plans = PlanParts(*SeeEnv(Build("a")));
  const std::string packages = std::string(kPackages).substr(1);
  ASSERT_EQ(plans.size(), 3U);
  EXPECT_EQ(plans[0].path, "");
  EXPECT_EQ(plans[1].path, packages + "/torch");
  EXPECT_EQ(plans[2].path, packages + "/nvidia/lib") << "a large file, its package is small";
  EXPECT_EQ(plans[2].entries, std::vector<std::string>{packages + "/nvidia/lib/huge.so"});
  Build("another place");
  for (const PartPlan& plan : plans) {
    std::vector<std::string> sums;
    for (const char* name : {"a", "another place"}) {
      const EnvTree tree = *SeeEnv(At(name));
      const PartWriter writer{At(name), tree, [] { return false; }, {}};
      sys::ScopedFd out(::open("/dev/null", O_WRONLY));
      sums.push_back(WritePart(writer, plan, out.get())->part.sha256);
    }
    EXPECT_EQ(sums[0], sums[1]) << plan.path;
  }
}

// Nothing is unpacked through a link that another part has made, nor over what is there.
TEST_F(KeptTest, PartsThatDoNotFitAreDamage) {
  const std::string built = Build("built");
  ASSERT_TRUE(Keep(memory_, built).ok());
  const EnvManifest whole = *(*FindEnv(memory_, kKey))->manifest;
  ASSERT_TRUE(sys::MakeDirs(At("elsewhere")).ok());
  for (const bool link : {true, false}) {
    EnvManifest manifest = whole;
    manifest.parts[1].path = link ? "lib64/site-packages" : "bin";
    if (!link) manifest.parts[1] = manifest.parts[0], manifest.parts[1].path = "lib";
    if (!link) manifest.parts.push_back(manifest.parts[1]);
    ASSERT_TRUE(memory_.Put(paths::EnvManifest(kKey), EncodeEnv(manifest)).ok());
    const auto taken = Take(memory_, At("other"));
    EXPECT_FALSE(taken->taken);
    EXPECT_TRUE(taken->damaged) << said_;
    EXPECT_NE(said_.find(link ? "lib64 is not a folder" : "two parts hold"), std::string::npos)
        << said_;
    said_.clear();
  }
}

TEST_F(KeptTest, OneThatNamesItsFolderIsUsedThereAlone) {
  const std::string built = Build("built", false);
  // Across the border of two pieces that are read.
  Write(built + "/bin/pip", std::string((1 << 20) - 5, ' ') + built + "/bin/python\n", 0755);
  Note(built);
  ASSERT_TRUE(Keep(memory_, built).ok()) << said_;
  EXPECT_FALSE(Take(memory_, At("other"))->taken);
  EXPECT_NE(said_.find("can be used in " + built + " alone"), std::string::npos) << said_;
  EXPECT_TRUE(Take(memory_, built)->taken) << said_;
  ASSERT_TRUE(memory_.Delete(paths::EnvManifest(kKey)).ok());
  Note(built);
  passing_ = true;
  EXPECT_NE(Keep(memory_, built).ToString().find("goes with the attempt"), std::string::npos);
  EXPECT_FALSE(memory_.Head(paths::EnvManifest(kKey)).ok());
}

TEST_F(KeptTest, WhatChangedSinceOrHoldsASecretIsNotKept) {
  const std::string built = Build("built");
  Write(built + kPackages + "/more.py", "installed by the program");
  EXPECT_TRUE(Keep(memory_, built).Is(Code::kInvalid));
  EXPECT_TRUE(Keep(memory_, built).ok()) << "said once";
  const std::string other = Build("other", false);
  Write(other + kPackages + "/x.dist-info/direct_url.json", "{\"url\":\"https://me:hunter2@h\"}");
  Note(other);
  const Status kept = Keep(memory_, other);
  EXPECT_TRUE(kept.Is(Code::kInvalid));
  EXPECT_NE(kept.ToString().find("holds a secret"), std::string::npos) << kept.ToString();
  EXPECT_FALSE(memory_.Head(paths::EnvManifest(kKey)).ok());
}

TEST_F(KeptTest, DamageIsSaidNotUsedAndMended) {
  ASSERT_TRUE(Keep(memory_, Build("built")).ok());
  for (const std::string& key : Keys()) {
    if (key == paths::EnvUsed(kKey)) continue;
    for (const bool gone : {true, false}) {
      const std::string whole = memory_.Get(key)->data;
      if (gone && key == paths::EnvManifest(kKey)) continue;
      std::string bad = whole;
      bad[bad.size() / 2] = static_cast<char>(bad[bad.size() / 2] ^ 1);
      if (gone) {
        ASSERT_TRUE(memory_.Delete(key).ok());
      }
      if (!gone) {
        ASSERT_TRUE(memory_.Put(key, bad).ok());
      }
      said_.clear();
      const auto taken = Take(memory_, At("other"));
      // A bit of the manifest may have changed what is for people alone.
      if (taken->taken) continue;
      EXPECT_NE(said_.find("it is built here"), std::string::npos) << key;
      ASSERT_TRUE(taken->damaged) << key << said_;
      ASSERT_TRUE(sys::RemoveTree(At("again")).ok());
      const std::string again = Build("again", false);
      Note(again, *taken->damaged);
      ASSERT_TRUE(Keep(memory_, again).ok());
      EXPECT_TRUE(Take(memory_, At("third"))->taken) << key << said_;
    }
  }
}

TEST_F(KeptTest, WhatDoesNotRunHereStaysAsItIs) {
  ASSERT_TRUE(Keep(memory_, Build("built")).ok());
  const auto taken = Take(memory_, At("other"), Status(Code::kInvalid, "no such library"));
  EXPECT_FALSE(taken->taken);
  EXPECT_FALSE(taken->damaged) << "it may be whole for others";
}

TEST_F(KeptTest, EndedAnywhereItLeavesNothingThatCounts) {
  const std::string built = Build("built");
  Prng prng(46);
  for (int round = 0; round < 20; ++round) {
    // Each request from some point on fails, before or after it took effect, as for one who died.
    MemoryStore memory;
    FaultPlan plan;
    auto left = std::make_shared<int>(static_cast<int>(prng.Below(10)));
    (prng.Below(2) == 0 ? plan.before : plan.after) = 1000;
    plan.only = [left](StoreCall, const std::string&) { return (*left)-- <= 0; };
    FaultyStore faulty(memory, 1 + round, plan);
    Note(built);
    const Status kept = Keep(faulty, built);
    ASSERT_TRUE(sys::RemoveTree(At("other")).ok());
    const auto taken = Take(memory, At("other"));
    ASSERT_TRUE(taken.ok());
    EXPECT_FALSE(taken->damaged) << said_;
    if (taken->taken) {
      EXPECT_EQ(Shape(At("other")), Shape(built));
    }
    if (kept.ok()) {
      EXPECT_TRUE(taken->taken);
    }
    // The next one brings it to its end.
    Note(built);
    ASSERT_TRUE(Keep(memory, built).ok()) << said_;
    EXPECT_TRUE(Take(memory, At("other"))->taken) << said_;
  }
}

// Real processes and a store on a disk: twenty moments of sending, and of unpacking.
TEST_F(KeptTest, KilledAnywhereItLeavesNothingThatCounts) {
  huge_ = true;
  const std::string built = Build("built");
  const std::string shape = Shape(built);
  Prng prng(9);
  int whole = 0;
  for (int round = 0; round < 20; ++round) {
    const std::string place = At("store-" + std::to_string(round));
    auto store = *LocalStore::Open(place);
    Note(built);
    const bool sends = round % 2 == 0;
    if (!sends) {
      ASSERT_TRUE(Keep(*store, built).ok());
    }
    const pid_t child = ::fork();
    if (child == 0) {
      (void)(sends ? Keep(*store, built) : Take(*store, At("other")).status());
      ::_exit(0);
    }
    ::usleep(static_cast<useconds_t>(prng.Below(sends ? 200'000 : 60'000)));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    const auto taken = Take(*store, At("other"));
    ASSERT_TRUE(taken.ok());
    EXPECT_FALSE(taken->damaged) << said_;
    if (taken->taken) {
      EXPECT_EQ(Shape(At("other")), shape);
    }
    whole += taken->taken ? 1 : 0;
    Note(built);
    ASSERT_TRUE(Keep(*store, built).ok()) << said_;
    EXPECT_TRUE(Take(*store, At("other"))->taken) << said_;
    ASSERT_TRUE(sys::RemoveTree(place).ok());
  }
  EXPECT_GE(whole, 10) << "what was there stays there";
}

TEST_F(KeptTest, WhatASetupHasMadeGoesAlong) {
  const std::string built = Build("built", false);
  ASSERT_TRUE(WriteEnvNote(built, {kKey, kSpoiltStamp, ""}).ok());
  ASSERT_TRUE(Keep(memory_, built).ok());
  EXPECT_TRUE(Keys().empty()) << "its setup has not run";
  Write(built + "/.stoker-setup/files/__pycache__/made.pyc", "by setup");
  ASSERT_TRUE(NoteSetupKept(built).ok());
  ASSERT_TRUE(Keep(memory_, built).ok()) << said_;
  ASSERT_TRUE(Take(memory_, At("other"))->taken) << said_;
  EXPECT_EQ(*sys::ReadFile(At("other") + "/.stoker-setup/files/__pycache__/made.pyc"), "by setup");
  const std::string secret = Build("secret", false);
  Write(secret + "/.stoker-setup/files/netrc", "hunter2");
  Note(secret);
  EXPECT_TRUE(Keep(memory_, secret).ok()) << "it is there already";
  ASSERT_TRUE(memory_.Delete(paths::EnvManifest(kKey)).ok());
  Note(secret);
  EXPECT_TRUE(Keep(memory_, secret).Is(Code::kInvalid));
}

TEST_F(KeptTest, TwoAtOnceAreOne) {
  const std::string a = Build("a"), b = Build("b");
  said_.reserve(4096);
  Status first, second;
  std::thread other([&] {
    KeepEnv what{b, At("b"), [](const std::string&) {}, {}, false};
    second = KeepNotedEnv(memory_, what, [] { return false; });
  });
  first = Keep(memory_, a);
  other.join();
  EXPECT_TRUE(first.ok() && second.ok()) << first.ToString() << second.ToString();
  EXPECT_EQ(Keys().size(), 4U);
  EXPECT_TRUE(Take(memory_, At("other"))->taken) << said_;
}

TEST_F(KeptTest, StoppedItEndsAndCanBeGoneOnWith) {
  const std::string built = Build("built");
  stopped_ = true;
  EXPECT_TRUE(Keep(memory_, built).Is(Code::kCancelled));
  EXPECT_TRUE(Keys().empty());
  stopped_ = false;
  EXPECT_TRUE(Keep(memory_, built).ok());
  EXPECT_FALSE(sys::FileExists(dir_.path() + "/env-part"));
}

}  // namespace
}  // namespace stoker::node

// SPDX-License-Identifier: Apache-2.0
#include "sys/container/engines.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>

#include "base/text.h"
#include "container/apptainer_argv.h"
#include "container/container_spec.h"
#include "sys/container/engine_notes.h"
#include "sys/container/groups_left.h"
#include "sys/container/images_left.h"
#include "sys/file.h"
#include "sys/real_clock.h"

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
  EXPECT_EQ(chosen.status().message(), "podman info: no answer in 300ms");
}

// A podman that has one image, and writes what it has as the real one does.
class KnownEngine : public FakeEngine {
 protected:
  void SetUp() override {
    FakeEngine::SetUp();
    setenv("PATH", (dir_->path() + ":/usr/bin:/bin").c_str(), 1);
    podman_ = Engine("echo sha256:" + id_ + " [docker.io/library/a@sha256:" + id_ + "]");
    podman_.folder = dir_->path();
    EXPECT_TRUE(sys::MakeDirs(dir_->path() + "/overlay-images/" + id_).ok());
    Changed("1");
  }
  void TearDown() override { setenv("PATH", path_.c_str(), 1); }
  void Changed(const std::string& text) {
    EXPECT_TRUE(
        sys::WriteFileAtomic(dir_->path() + "/overlay-images/images.json", text, 0644, false).ok());
  }
  std::string Times() { return std::to_string(Split(Asked(), '\n').size() - 1); }
  const std::string path_ = getenv("PATH"), id_ = std::string(64, 'a');
  EngineFacts podman_;
};

TEST_F(KnownEngine, IsNotAskedUntilItsClientIsAnother) {
  const EngineNotes notes(dir_->path());
  EXPECT_FALSE(notes.Engine("")) << "nobody has noted it";
  ASSERT_TRUE(notes.Note(podman_).ok());
  const auto known = notes.Engine("");
  ASSERT_TRUE(known);
  EXPECT_EQ(known->version + known->folder, "4.3.1" + dir_->path());
  EXPECT_FALSE(notes.Engine("docker"));
  EXPECT_EQ(Asked(), "");
  Engine("exit 0 # another");
  EXPECT_FALSE(notes.Engine(""));
  EXPECT_TRUE(notes.Has(podman_));
}

TEST_F(KnownEngine, IsAskedForAnImageAgainWhenItsImagesChange) {
  const EngineNotes notes(dir_->path());
  ASSERT_TRUE(notes.Note(podman_).ok());
  for (int i = 0; i < 2; ++i) {
    const auto found = notes.Look(podman_, "a");
    ASSERT_TRUE(found.ok() && *found);
    EXPECT_EQ(FixedImage("a", **found), "docker.io/library/a@sha256:" + id_);
  }
  EXPECT_EQ(Times(), "1");
  Changed("22");
  EXPECT_TRUE(notes.Look(podman_, "a").ok());
  EXPECT_EQ(Times(), "2");
  EXPECT_TRUE(notes.Note(podman_).ok());
  EXPECT_TRUE(notes.Look(podman_, "a").ok());
  EXPECT_EQ(Times(), "2") << "a note forgets no image";
  ASSERT_TRUE(sys::RemoveTree(dir_->path() + "/overlay-images/" + id_).ok());
  Changed("333");
  EXPECT_TRUE(notes.Look(podman_, "a").ok());
  EXPECT_TRUE(notes.Look(podman_, "a").ok());
  EXPECT_EQ(Times(), "4") << "it lies in another store, which changes unseen";
}

TEST_F(KnownEngine, IsRecalledForWhatStandsForOneContent) {
  const EngineNotes notes(dir_->path());
  ASSERT_TRUE(notes.Note(podman_).ok());
  const std::string fixed = "docker.io/library/a@sha256:" + id_;
  EXPECT_FALSE(notes.Recall(podman_, fixed));
  EXPECT_TRUE(notes.Look(podman_, fixed).ok());
  EXPECT_TRUE(notes.Look(podman_, "a").ok());
  Changed("22");
  ASSERT_TRUE(notes.Recall(podman_, fixed));
  EXPECT_EQ(notes.Recall(podman_, fixed)->id, id_);
  EXPECT_EQ(notes.Recall(podman_, "sha256:" + id_)->id, id_);
  EXPECT_FALSE(notes.Recall(podman_, "a")) << "a tag moves";
}

TEST_F(FakeEngine, LosesImagesOfStokersThatNobodyHasUsedForLong) {
  const std::string removed = dir_->path() + "/removed", old = std::string(kBuiltImage) + ":old";
  const auto engine = Engine("[ $1 = images ] || { echo $2 >>" + removed + "; exit; }\necho " +
                             old + "; echo docker.io/library/a:1");
  const auto sweep = [&](int days, bool dry_run) {
    const WallTime now = RealClock().Wall() + Duration::Hours(24 * days);
    return SweepImages(dir_->path(), {{engine, "", false}}, now, dry_run);
  };
  EXPECT_FALSE(HasImageUses(dir_->path()));
  EXPECT_TRUE(sweep(0, false).empty()) << "its last use is not known: it counts from now on";
  EXPECT_TRUE(HasImageUses(dir_->path()));
  EXPECT_TRUE(sweep(29, false).empty());
  EXPECT_EQ(sweep(31, true), std::vector<std::string>{old});
  EXPECT_FALSE(sys::FileExists(removed));
  EXPECT_EQ(sweep(31, false), std::vector<std::string>{old});
  EXPECT_EQ(sys::ReadFile(removed).value_or(""), old + "\n");
}

TEST_F(FakeEngine, LosesFilesOfApptainersThatNobodyHasUsedForLong) {
  EngineFacts apptainer;
  apptainer.kind = EngineKind::kApptainer;
  apptainer.folder = dir_->path() + "/images";
  ASSERT_TRUE(sys::MakeDirs(apptainer.folder).ok());
  const std::string file = ApptainerFile(apptainer, "docker.io/library/a:1");
  for (const std::string& one : {file, file + kSifId}) {
    ASSERT_TRUE(sys::WriteFileAtomic(one, "x").ok());
    const timespec long_ago[] = {{1, 0}, {1, 0}};
    ASSERT_EQ(utimensat(AT_FDCWD, one.c_str(), long_ago, 0), 0);
  }
  const auto sweep = [&] {
    return SweepImages(dir_->path(), {{apptainer, "", false}}, RealClock().Wall(), false);
  };
  NoteFileUse(dir_->path(), apptainer, "docker.io/library/a:1");
  EXPECT_TRUE(sweep().empty()) << "it is used now";
  const timespec long_ago[] = {{1, 0}, {1, 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, file.c_str(), long_ago, 0), 0);
  EXPECT_EQ(sweep(), std::vector<std::string>{file});
  EXPECT_FALSE(sys::FileExists(file));
  EXPECT_FALSE(sys::FileExists(file + kSifId));
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

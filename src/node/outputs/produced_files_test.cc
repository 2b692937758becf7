// SPDX-License-Identifier: Apache-2.0
#include "node/outputs/produced_files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "sys/file.h"

namespace stoker::node {
namespace {

using Paths = std::vector<std::string>;

class ProducedFilesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto made = sys::TempDir::Make("made");
    ASSERT_TRUE(made.ok());
    temp_ = std::make_unique<sys::TempDir>(std::move(*made));
  }
  void Write(const std::string& path, const std::string& text = "text") {
    const std::string full = temp_->path() + "/" + path;
    ASSERT_TRUE(sys::MakeDirs(full.substr(0, full.rfind('/'))).ok());
    ASSERT_TRUE(sys::WriteFileAtomic(full, text, 0644, false).ok());
  }
  ProducedFilesConfig Config() { return {temp_->path(), {"checkpoints", "output"}, {}}; }
  Paths Listed(const ProducedFiles& made) {
    const auto tree = ListTree(temp_->path(), "", made.Chosen());
    EXPECT_TRUE(tree.ok());
    Paths paths;
    for (const FileFact& fact : tree->files) paths.push_back(fact.path);
    return paths;
  }
  Paths Kept(ProducedFiles& made) {
    const Status chosen = made.Choose([] { return false; });
    EXPECT_TRUE(chosen.ok()) << chosen.ToString();
    return Listed(made);
  }

  std::unique_ptr<sys::TempDir> temp_;
};

TEST_F(ProducedFilesTest, WhereNothingIsKeptItIsNamed) {
  Write("train.py");
  ProducedFilesConfig config = Config();
  config.keeps = false;
  ProducedFiles made(config);
  ASSERT_TRUE(made.Remember().ok());
  EXPECT_EQ(Kept(made), Paths{});
  EXPECT_EQ(made.left_out(), Paths{});
  Write("__pycache__/train.pyc");
  Write("output/kept-anyway");
  EXPECT_EQ(Kept(made), Paths{});
  EXPECT_EQ(made.left_out(), Paths{});
  for (int i = 0; i < 12; ++i) Write("part-" + std::to_string(100 + i));
  for (int tries = 0; tries < 2; ++tries) {
    EXPECT_EQ(Kept(made), Paths{});
    ASSERT_EQ(made.left_out().size(), 1U);
    const std::string& line = made.left_out().front();
    EXPECT_TRUE(StartsWith(line, "not kept: part-100, part-101, ")) << line;
    EXPECT_NE(line.find("part-109 and 2 more: without 'outputs'"), std::string::npos) << line;
  }
  EXPECT_TRUE(made.Choose([] { return true; }).Is(Code::kTimeout));
}

TEST_F(ProducedFilesTest, OnlyWhatIsNewOrChanged) {
  for (const char* path : {"train.py", "lib/a.py", "lib/b.py", "log.txt"}) Write(path);
  ProducedFiles made(Config());
  ASSERT_TRUE(made.Remember().ok());
  EXPECT_EQ(Kept(made), Paths{});
  Write("model.pt");
  Write("lib/b.py", "longer than it was");
  Write("runs/1/deep/best.pt");
  ASSERT_EQ(symlink("model.pt", (temp_->path() + "/newest").c_str()), 0);
  ASSERT_EQ(mkfifo((temp_->path() + "/pipe").c_str(), 0600), 0);
  ASSERT_TRUE(sys::MakeDirs(temp_->path() + "/empty").ok());
  // Of the same length, and with its time set back.
  const std::string log = temp_->path() + "/log.txt";
  struct stat before;
  ASSERT_EQ(stat(log.c_str(), &before), 0);
  ASSERT_EQ(truncate(log.c_str(), 0), 0);
  ASSERT_EQ(truncate(log.c_str(), before.st_size), 0);
  const timespec times[2] = {before.st_atim, before.st_mtim};
  ASSERT_EQ(utimensat(AT_FDCWD, log.c_str(), times, 0), 0);
  EXPECT_EQ(Kept(made),
            (Paths{"lib/b.py", "log.txt", "model.pt", "newest", "runs/1/deep/best.pt"}));
  EXPECT_TRUE(made.left_out().empty());
}

TEST_F(ProducedFilesTest, WhatToolsMakeForThemselvesAndWhatIsKeptOtherwise) {
  ProducedFiles made(Config());
  ASSERT_TRUE(made.Remember().ok());
  for (const char* path :
       {"__pycache__/a.pyc", "x/__pycache__/a.pyc", ".cache/hub/m", "node_modules/a/b.js",
        ".git/HEAD", "venv/pyvenv.cfg", "venv/lib/x.py", "conda/conda-meta/h", "output/o",
        "checkpoints/c", "x/checkpoints/mine"}) {
    Write(path);
  }
  EXPECT_EQ(Kept(made), Paths{"x/checkpoints/mine"});
  EXPECT_TRUE(made.left_out().empty());
}

// .gitignore is about what git is to keep, and models are not: it does not count.
TEST_F(ProducedFilesTest, IgnoreFiles) {
  Write(".gitignore", "*.pt\n");
  Write(".stokerignore", "scratch/\n*.tmp\n");
  Write("scratch/before");
  ProducedFiles made(Config());
  ASSERT_TRUE(made.Remember().ok());
  Write("model.pt");
  EXPECT_EQ(Kept(made), Paths{"model.pt"});
  EXPECT_TRUE(made.left_out().empty()) << made.left_out()[0];
  Write("a.tmp");
  Write("deep/scratch/x");
  EXPECT_EQ(Kept(made), Paths{"model.pt"});
  ASSERT_EQ(made.left_out().size(), 1u);
  EXPECT_EQ(made.left_out()[0].find("not kept, as .stokerignore names them: "), 0u);
  EXPECT_NE(made.left_out()[0].find("a.tmp"), std::string::npos);
  EXPECT_NE(made.left_out()[0].find("deep/scratch/"), std::string::npos);
}

TEST_F(ProducedFilesTest, Credentials) {
  ProducedFiles made(Config());
  ASSERT_TRUE(made.Remember().ok());
  const std::string token = "ghp_" + std::string("9Xk2LmQ8vR4tYw7ZbN3cJd6Hf5Gs1Ap0EuTi");
  Write("notes.txt", "first\ntoken = " + token + "\n");
  Write("weights.bin", std::string(10, '\0') + token);
  Write(".env", "A=b");
  Write(".ssh/id_rsa", "x");
  EXPECT_EQ(Kept(made), Paths{"weights.bin"});
  const std::string all = Join(made.left_out(), "\n");
  EXPECT_NE(all.find("notes.txt was not kept: line 2 looks like a GitHub"), all.npos) << all;
  EXPECT_NE(all.find("their names say that they hold secrets: .env, .ssh/"), all.npos) << all;
  EXPECT_EQ(all.find(token), all.npos);
}

TEST_F(ProducedFilesTest, WhatIsTooMuchIsNamedWithWhatToWrite) {
  ProducedFilesConfig config = Config();
  config.bounds = {100, 5};
  ProducedFiles made(config);
  ASSERT_TRUE(made.Remember().ok());
  Write("model.pt", std::string(200, 'x'));
  Write("metrics.json");
  for (int i = 10; i < 30; ++i) Write("cache/" + std::to_string(i));
  EXPECT_EQ(Kept(made), (Paths{"cache/10", "cache/11", "cache/12", "metrics.json"}));
  ASSERT_EQ(made.left_out().size(), 1u);
  const std::string& said = made.left_out()[0];
  EXPECT_EQ(
      said.find("not kept: cache/ (17 of 20 files, 68 B), model.pt (200 B): the program made 22"),
      0u)
      << said;
  EXPECT_NE(said.find("limits: {kept_size: 1GB, kept_files: 22}"), said.npos) << said;
}

TEST_F(ProducedFilesTest, NoTimeIsSaid) {
  ProducedFiles made(Config());
  ASSERT_TRUE(made.Remember().ok());
  Write("model.pt");
  EXPECT_EQ(made.Choose([] { return true; }).code(), Code::kTimeout);
  EXPECT_EQ(Listed(made), Paths{});
}

// What git ignores and is called as folders of downloads are.
TEST_F(ProducedFilesTest, DownloadsAreNoResults) {
  const std::string large(11'000'000, 'x');
  Write(".gitignore", "data/\n/runs/*\n.cache\nlarge\n");
  Write("sub/.gitignore", "datasets/*\n!datasets/.keep\n");
  ProducedFiles made(Config());
  ASSERT_TRUE(made.Remember().ok());
  Write("data/train/a.bin", large);
  Write("data/few");
  Write("deep/data/small", "few bytes");
  Write("sub/datasets/b.bin", large);
  Write("datasets/mine", large);
  Write("runs/data/c.bin", large);
  Write("large", large);
  Write("other", large);
  Write(".cache/hub/d.bin", large);
  Write(".cache/.env", "SECRET=1");
  Write("src/dataset", large);
  EXPECT_EQ(Kept(made),
            (Paths{"datasets/mine", "deep/data/small", "large", "other", "src/dataset"}));
  ASSERT_EQ(made.left_out().size(), 1U);
  const std::string said = made.left_out()[0];
  EXPECT_EQ(said.find("not kept, as downloads are no results: "), 0U) << said;
  for (const char* folder : {"data/ (2 files, 11.0 MB)", "sub/datasets/ (1 file, 11.0 MB)",
                             "runs/data/ (1 file, 11.0 MB)", ".cache/ (2 files, 11.0 MB)"}) {
    EXPECT_NE(said.find(folder), std::string::npos) << folder << " in " << said;
  }
  EXPECT_NE(said.find("name it under 'outputs'"), std::string::npos);
  EXPECT_EQ(Kept(made).size(), 5U) << "again, as after a cut";
}

TEST_F(ProducedFilesTest, DownloadsThatWereThereOrAreFewAreNoMatter) {
  const std::string large(11'000'000, 'x');
  Write(".gitignore", "data\n.cache\n");
  Write(".cache/of-setup", large);
  Write("data/of-setup", large);
  ProducedFiles made(Config());
  ASSERT_TRUE(made.Remember().ok());
  Write("data/result", "result");
  Write(".cache/x", "x");
  EXPECT_EQ(Kept(made), Paths{"data/result"});
  EXPECT_EQ(made.left_out(), Paths{});
}

// Rules may lie where the job's folder is not: above it, or beside the repository.
TEST_F(ProducedFilesTest, WhatGitIgnoredAtSubmissionCounts) {
  const std::string large(11'000'000, 'x');
  ProducedFilesConfig config = Config();
  config.downloads = "/data/\ndatasets/\n";
  for (const bool keeps : {true, false}) {
    config.keeps = keeps;
    ProducedFiles made(config);
    ASSERT_TRUE(made.Remember().ok());
    for (const char* path : {"data/a", "x/data/a", "x/datasets/a"}) Write(path, large);
    EXPECT_EQ(Kept(made), keeps ? Paths{"x/data/a"} : Paths{});
    ASSERT_EQ(made.left_out().size(), keeps ? 1U : 2U);
    EXPECT_NE(made.left_out()[0].find(keeps ? "data/ (1 file" : "data/, x/datasets/: "),
              std::string::npos)
        << made.left_out()[0];
    for (const char* path : {"data", "x"})
      ASSERT_TRUE(sys::RemoveTree(temp_->path() + "/" + path).ok());
  }
}

}  // namespace
}  // namespace stoker::node

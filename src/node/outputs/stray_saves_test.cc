// SPDX-License-Identifier: Apache-2.0
#include "node/outputs/stray_saves.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <thread>

#include "sys/file.h"

namespace stoker::node {
namespace {

class StraySavesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto made = sys::TempDir::Make("stray");
    ASSERT_TRUE(made.ok());
    temp_ = std::make_unique<sys::TempDir>(std::move(*made));
    Write("pretrained.pt", "user's");
    Write("ckpt.pt", "user's");
    saves_ = std::make_unique<StraySaves>(
        temp_->path(), [](const std::string& path) { return path == "kept" || path == ".cache"; });
    struct stat info;
    ASSERT_EQ(stat((temp_->path() + "/ckpt.pt").c_str(), &info), 0);
    saves_->Begin({info.st_ctim.tv_sec * 1000 + info.st_ctim.tv_nsec / 1'000'000 + 1});
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // the clock of files goes in steps
  }
  // Under another inode each time.
  void Write(const std::string& path, const std::string& bytes) {
    const std::string file = temp_->path() + "/" + path;
    ASSERT_TRUE(sys::MakeDirs(file.substr(0, file.rfind('/'))).ok());
    ASSERT_TRUE(sys::WriteFileAtomic(file, bytes, 0644, false).ok());
  }
  std::unique_ptr<sys::TempDir> temp_;
  std::unique_ptr<StraySaves> saves_;
};

TEST_F(StraySavesTest, AreToldByTheirNameOnce) {
  EXPECT_EQ(saves_->Look(), "");
  Write("out/ckpt.pt", "model");
  EXPECT_EQ(saves_->Look(), "out/ckpt.pt is not kept: --checkpoints out");
  Write("out/last.ckpt", "model");
  EXPECT_EQ(saves_->Look(), "");
}

TEST_F(StraySavesTest, TellTheFolderThatLasts) {
  Write("lightning_logs/version_0/checkpoints/epoch=0-step=10.ckpt", "model");
  EXPECT_EQ(saves_->Look(),
            "lightning_logs/version_0/checkpoints/epoch=0-step=10.ckpt is not kept: --checkpoints "
            "lightning_logs");
}

TEST_F(StraySavesTest, WhatLibrariesFetchIsNone) {
  Write("HF_Cache/models--org--net/blobs/last.ckpt", "weights");
  Write("torch_cache/hub/checkpoint.pth", "weights");
  EXPECT_EQ(saves_->Look(), "");
  Write("cached_out.d/model.txt", "text");
  Write("out/checkpoint.pth", "model");
  EXPECT_EQ(saves_->Look(), "out/checkpoint.pth is not kept: --checkpoints out");
}

TEST_F(StraySavesTest, InNoFolderThereIsNoneToName) {
  Write("last.pth", "model");
  EXPECT_EQ(saves_->Look().find("last.pth is not kept: save it in a folder of its own"), 0u);
}

TEST_F(StraySavesTest, OfAnyNameAreToldOnceSavedTwice) {
  Write("out/net.pt", "model");
  EXPECT_EQ(saves_->Look(), "");
  EXPECT_EQ(saves_->Look(), "") << "it is the same";
  Write("out/net.pt", "MODEL");
  EXPECT_EQ(saves_->Look(), "out/net.pt is not kept: --checkpoints out");
}

TEST_F(StraySavesTest, OfARowAreToldFromTheSecondOn) {
  Write("out/net-1.pt", "model");
  EXPECT_EQ(saves_->Look(), "");
  Write("out/net-2.pt", "model");
  EXPECT_EQ(saves_->Look(), "out/net-2.pt is not kept: --checkpoints out");
}

TEST_F(StraySavesTest, WhatIsFetchedOrKeptOrTheUsersIsNone) {
  Write("weights/resnet50.pth", "half");
  Write("weights/model-00001-of-00002.safetensors", "shard");
  Write("weights/sam_vit_h_checkpoint.pth", "fetched");
  Write("weights/resnet18.pth", "another");
  Write("kept/ckpt.pt", "model");
  Write(".cache/ckpt.pt", "model");
  Write("out/ckpt.txt", "text");
  Write("out/last.pt", "");
  EXPECT_EQ(saves_->Look(), "");
  Write("weights/resnet50.pth", "half and more");
  Write("weights/model-00002-of-00002.safetensors", "shard");
  EXPECT_EQ(saves_->Look(), "");
}

}  // namespace
}  // namespace stoker::node

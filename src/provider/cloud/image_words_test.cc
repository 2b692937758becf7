// SPDX-License-Identifier: Apache-2.0
#include "provider/cloud/image_words.h"

#include <gtest/gtest.h>

namespace stoker::cloud {
namespace {

TEST(ImageWords, ABaseImageHasNoPyTorch) {
  for (const char* name : {"Deep Learning Base OSS Nvidia Driver GPU AMI (Ubuntu 22.04) 20261101",
                           "common-cu128-ubuntu-2204-nvidia-570-v20261110"}) {
    const auto told = ImageRemarks({name, 100, true, false});
    ASSERT_EQ(told.size(), 1U) << name;
    EXPECT_NE(told[0].find("no PyTorch"), std::string::npos);
    EXPECT_TRUE(ImageRemarks({name, 100, true, true}).empty()) << "it brings its own";
    EXPECT_TRUE(ImageRemarks({name, 100, false, false}).empty());
  }
  EXPECT_TRUE(
      ImageRemarks({"Deep Learning OSS Nvidia Driver AMI GPU PyTorch 2.7", 100, true, false})
          .empty());
  EXPECT_TRUE(ImageRemarks({"pytorch-2-7-cu128-ubuntu-2204", 100, true, false}).empty());
}

TEST(ImageWords, ASmallDiskIsSaidToWhoFillsIt) {
  const auto told = ImageRemarks({"debian-12-bookworm-v20261110", 10, false, true});
  ASSERT_EQ(told.size(), 1U);
  EXPECT_NE(told[0].find("10 GiB"), std::string::npos);
  EXPECT_NE(told[0].find("'disk_size' gives more"), std::string::npos);
  EXPECT_TRUE(ImageRemarks({"debian-12", 10, false, false}).empty());
  EXPECT_TRUE(ImageRemarks({"debian-12", 50, false, true}).empty());
  EXPECT_TRUE(ImageRemarks({"debian-12", 0, false, true}).empty());
}

}  // namespace
}  // namespace stoker::cloud

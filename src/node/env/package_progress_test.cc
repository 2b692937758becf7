// SPDX-License-Identifier: Apache-2.0
#include "node/env/package_progress.h"

#include <gtest/gtest.h>

namespace stoker::node {
namespace {

TEST(PackageProgress, OfUv) {
  PackageProgress progress;
  EXPECT_EQ(progress.Line(), "which packages are needed is still being found out");
  progress.Add("Using Python 3.11.2 environment at: v\nResolved 45 packages in 1.2s\nDownlo");
  progress.Add("ading torch (1.0GiB)\nDownloading numpy (16.0MiB)\n");
  EXPECT_EQ(progress.Line(), "of 45 packages, numpy (16.0MiB) is on its way, and 1 more");
  progress.Add(" Downloaded numpy\n");
  EXPECT_EQ(progress.Line(),
            "of 45 packages, 1 large package is loaded (16.8 MB), torch (1.0GiB) is on its way");
  progress.Add(" Downloaded torch\n   Building flash-attn==2.5\n");
  EXPECT_NE(progress.Line().find("flash-attn==2.5 is built"), std::string::npos);
}

TEST(PackageProgress, OfPip) {
  PackageProgress progress;
  progress.Add("Collecting numpy\n  Downloading numpy-2.4-cp311.whl (16.9 MB)\n");
  EXPECT_EQ(progress.Line(), "numpy-2.4-cp311.whl (16.9 MB) is on its way");
  progress.Add("Collecting six\n  Downloading https://host/p/six-1.16.whl (11 kB)\n");
  EXPECT_EQ(progress.Line(), "1 package is loaded (16.9 MB), six-1.16.whl (11 kB) is on its way");
}

}  // namespace
}  // namespace stoker::node

// SPDX-License-Identifier: Apache-2.0
#include "node/env/project/lock_text.h"

#include <gtest/gtest.h>

namespace stoker::node {
namespace {

TEST(LockText, HashesOfALock) {
  const std::string all =
      "a==1 ; sys_platform == 'linux' \\\n    --hash=sha256:00 \\\n    --hash=sha256:01\n"
      "    # via p\nb==2 --hash=sha256:02\n";
  EXPECT_EQ(WithoutHash(all), std::vector<std::string>());
  EXPECT_EQ(
      WithoutHash("-e .\n./loc\n    # via q\nc @ git+https://host/c@0123\n" + all + "d==1 ; x\n"),
      (std::vector<std::string>{"-e .", "./loc", "c", "d==1"}));
  EXPECT_EQ(DropHashes("-e .\na==1 \\\n    --hash=sha256:00\n    # via p\n"),
            "-e .\na==1\n    # via p\n\n");
}

TEST(LockText, IndexesOfTheProject) {
  EXPECT_EQ(IndexOptions("      --emit-index-url\n      --emit-find-links\n"),
            (std::vector<std::string>{"--emit-index-url", "--emit-find-links"}));
  EXPECT_TRUE(IndexOptions("      --no-emit-project\n").empty());
  EXPECT_EQ(IndexLines({{"extra", "https://host/whl/cpu"}, {"default", "https://me:word@host/x"}}),
            "--extra-index-url https://host/whl/cpu\n--index-url https://me:word@host/x\n");
  EXPECT_EQ(IndexLines({{"flat", "https://host/list"}}), "--find-links https://host/list\n");
}

}  // namespace
}  // namespace stoker::node

// SPDX-License-Identifier: Apache-2.0
#include "node/env/project/own_tool.h"

#include <gtest/gtest.h>

namespace stoker::node {
namespace {

TEST(OwnTool, IsNamedByCommands) {
  EXPECT_EQ(OwnTool("uv run train.py"), "uv run");
  EXPECT_EQ(OwnTool("bash -c 'cd x && uv --project y run train.py'"), "uv run");
  EXPECT_EQ(OwnTool("# as in the README\npip install uv\n~/.local/bin/uv sync --frozen\n"),
            "uv sync");
  EXPECT_EQ(OwnTool("A=1 exec poetry \\\n  install --no-root"), "poetry install");
  EXPECT_EQ(OwnTool("torchrun a.py; pdm run x"), "pdm run");
  EXPECT_EQ(OwnTool("(hatch -e gpu run x)"), "hatch run");
  EXPECT_EQ(OwnTool("pixi run train"), "pixi run");
}

TEST(OwnTool, IsNoOtherWord) {
  EXPECT_EQ(OwnTool(""), "");
  EXPECT_EQ(OwnTool("python3 train.py --uv run"), "");
  EXPECT_EQ(OwnTool("# uv run train.py\npython3 train.py # uv sync"), "");
  EXPECT_EQ(OwnTool("uv pip install -r more.txt"), "");
  EXPECT_EQ(OwnTool("uv --version; run"), "");
  EXPECT_EQ(OwnTool("uv"), "");
}

}  // namespace
}  // namespace stoker::node

// SPDX-License-Identifier: Apache-2.0
#include "node/env/conda_env.h"

#include <gtest/gtest.h>

namespace stoker::node {
namespace {

TEST(CondaEnv, IsDemandedByACommentAlone) {
  EXPECT_EQ(DemandedCondaFile("# environment.yml\n"), "environment.yml");
  EXPECT_EQ(DemandedCondaFile("# for the cluster\n\n  #environment.yaml\r\n"), "environment.yaml");
  EXPECT_EQ(DemandedCondaFile("# none\n"), "");
  EXPECT_EQ(DemandedCondaFile("# see environment.yml\n"), "");
  EXPECT_EQ(DemandedCondaFile("# environment.yml\nnumpy\n"), "");
}

TEST(CondaEnv, DependsOnWhatItsPipPartNames) {
  const std::string plain =
      "name: x\nchannels: [conda-forge]\ndependencies:\n- python=3.11\n- numpy>=1\n- pip\n";
  EXPECT_EQ(ScopeOfCondaFile(plain), RequirementsScope::kFile);
  EXPECT_EQ(ScopeOfCondaFile(plain + "- pip:\n  - torch==2.1\n"), RequirementsScope::kFile);
  EXPECT_EQ(ScopeOfCondaFile(plain + "- pip:\n  - torch\n  - -r more.txt\n"),
            RequirementsScope::kCode);
  EXPECT_EQ(ScopeOfCondaFile(plain + "- pip: ['-e .']\n"), RequirementsScope::kDirectory);
  EXPECT_EQ(ScopeOfCondaFile("dependencies: [\n"), RequirementsScope::kCode);
}

}  // namespace
}  // namespace stoker::node

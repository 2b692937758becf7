// SPDX-License-Identifier: Apache-2.0
#include "node/env/requirements.h"

#include <gtest/gtest.h>

namespace stoker::node {
namespace {

using enum RequirementsScope;

TEST(Requirements, PackagesAndAddressesDependOnNothingElse) {
  for (const char* text :
       {"", "\n\n", "numpy", "torch==2.1.0+cu118 # from ./here",
        "  scikit-learn>=1.2 ; python_version > '3'",
        "--extra-index-url https://download.pytorch.org/whl/cu118\ntorch", "-i https://a.example/b",
        "-r https://a.example/more.txt", "pkg @ https://a.example/pkg-1.whl",
        "--no-binary :all:", "https://a.example/pkg-1.tar.gz", "-e git+https://a.example/b#egg=c",
        "# -e .", "requests[security]", "numpy \\\n  --hash=sha256:00"}) {
    EXPECT_EQ(ScopeOfRequirements(text), kFile) << text;
  }
}

TEST(Requirements, FilesOfTheWorkDirectory) {
  for (const char* text :
       {"./pkg", ".", "../pkg", "numpy\n./pkg\n", "-r more.txt", "-rmore.txt",
        "--requirement=more.txt", "-c constraints.txt", "--find-links wheels",
        "pkg @ file:///here/pkg", "wheels/a.whl", "a-1.0.whl", "/opt/pkg", "./pkg[extra]",
        "  -r\tmore.txt\r", "./pkg ; python_version > '3'", "\\\n./pkg"}) {
    EXPECT_EQ(ScopeOfRequirements(text), kCode) << text;
  }
}

TEST(Requirements, TheFolderItself) {
  for (const char* text :
       {"-e .", "-e./pkg", "--editable ./pkg", "--editable=.", "./a\n-e ./b\nnumpy"}) {
    EXPECT_EQ(ScopeOfRequirements(text), kDirectory) << text;
  }
}

}  // namespace
}  // namespace stoker::node

// SPDX-License-Identifier: Apache-2.0
#include "node/env/pip_words.h"

#include <gtest/gtest.h>

namespace stoker::node {
namespace {

// Shortened from what pip 23.2 printed.
constexpr char kScm[] =
    "Obtaining file:///w (from -r requirements.txt (line 1))\n"
    "  error: subprocess-exited-with-error\n  \n"
    "  × Getting requirements to build editable did not run successfully.\n"
    "  │ exit code: 1\n"
    "  ╰─> [74 lines of output]\n"
    "      Traceback (most recent call last):\n"
    "        File \"/x/setuptools_scm/version_inference.py\", line 139, in infer\n"
    "          raise LookupError(error_msg)\n"
    "      LookupError: setuptools-scm was unable to detect version for /w.\n"
    "      \n"
    "      Make sure you're either building from a fully intact git repository or PyPI tarballs.\n"
    "      \n"
    "      For example, if you're using pip\n"
    "      Alternatively\n"
    "      [end of output]\n  \n"
    "  note: This error originates from a subprocess, and is likely not a problem with pip.\n"
    "error: subprocess-exited-with-error\n\n"
    "× Getting requirements to build editable did not run successfully.\n"
    "│ exit code: 1\n╰─> See above for output.\n\n"
    "note: This error originates from a subprocess, and is likely not a problem with pip.\n";

constexpr char kCompiler[] =
    "  × Building wheel for mypk (pyproject.toml) did not run successfully.\n"
    "  │ exit code: 1\n"
    "  ╰─> [14 lines of output]\n"
    "      running build_ext\n"
    "      gcc -Wall -c x.c -o x.o\n"
    "      x.c:1:8: error: expected declaration specifiers\n"
    "          1 | int f( {\n"
    "      error: Command '['gcc', '-Wall']' returned non-zero exit status 1.\n"
    "      [end of output]\n"
    "  ERROR: Failed building wheel for mypk\nFailed to build mypk\n"
    "ERROR: Could not build wheels for mypk\n";

TEST(PipWords, AnExceptionAndWhatItSays) {
  EXPECT_EQ(WhyPipFailed(kScm),
            "Getting requirements to build editable: LookupError: setuptools-scm was unable to "
            "detect version for /w. / Make sure you're either building from a fully intact git "
            "repository or PyPI tarballs. / For example, if you're using pip");
}

TEST(PipWords, ASentenceFollows) {
  EXPECT_EQ(WhyPipFailed("error: No solution found\n  x is unsatisfiable.\n"),
            "error: No solution found / x is unsatisfiable");
}

// Standard error is another pipe: its lines come before their time.
TEST(PipWords, InAnotherOrder) {
  std::string text = kScm;
  const size_t end = text.find("error: subprocess-exited-with-error\n\n");
  const std::string told = text.substr(end);
  text.resize(end);
  for (const std::string& mixed :
       {told + text, std::string(text).insert(text.find("      Make sure"), told)}) {
    EXPECT_EQ(WhyPipFailed(mixed), WhyPipFailed(kScm)) << mixed;
  }
}

TEST(PipWords, ACompilersErrors) {
  EXPECT_EQ(WhyPipFailed(kCompiler),
            "Building wheel for mypk (pyproject.toml): x.c:1:8: error: expected declaration "
            "specifiers");
  EXPECT_EQ(GitAdvice(kCompiler), "");
}

TEST(PipWords, OfOlderPip) {
  EXPECT_EQ(PackageErrors("    ERROR: Command errored out with exit status 1:\n"
                          "         cwd: /tmp/x/\n    Complete output (5 lines):\n"
                          "    Traceback (most recent call last):\n"
                          "      File \"<string>\", line 1, in <module>\n"
                          "    ModuleNotFoundError: No module named 'torch'\n"
                          "    ----------------------------------------\n"
                          "WARNING: Discarding file:///x\n"),
            "ModuleNotFoundError: No module named 'torch'");
}

TEST(PipWords, PipsOwn) {
  EXPECT_EQ(WhyPipFailed("Looking in links: /w\nERROR: Could not find x\nERROR: No matching x\n"
                         "[notice] A new release\n"),
            "ERROR: Could not find x / ERROR: No matching x");
  EXPECT_EQ(WhyPipFailed("a\nb\nc\nd\n"), "b / c / d");
  EXPECT_EQ(PackageErrors("a\nb\nc\nd\n"), "");
  EXPECT_EQ(WhyPipFailed(""), "");
  EXPECT_LE(WhyPipFailed("ERROR: " + std::string(9000, 'x')).size(), 610U);
}

// Cut off in the middle, or with nothing inside, it says something or nothing, and does not throw.
TEST(PipWords, AnyPartOfIt) {
  const std::string text = std::string(kScm) + kCompiler;
  for (size_t at = 0; at < text.size(); ++at) {
    EXPECT_LE(WhyPipFailed(text.substr(at)).size(), 610U);
    EXPECT_LE(WhyPipFailed(text.substr(0, at)).size(), 610U);
  }
}

TEST(PipWords, WhatNeedsGit) {
  EXPECT_NE(GitAdvice(kScm).find("--env SETUPTOOLS_SCM_PRETEND_VERSION=1.2.3"), std::string::npos);
  const auto block = [](const std::string& line) {
    return "  × Preparing metadata did not run successfully.\n  ╰─> [3 lines of output]\n      " +
           line + "\n      [end of output]\n";
  };
  for (const auto& [line, name] :
       {std::pair("Exception: Versioning for this project requires either an sdist tarball, or "
                  "access to an upstream git repository (pbr)",
                  "PBR_VERSION"),
        {"File poetry_dynamic_versioning/x.py\n      RuntimeError: Unable to detect version "
         "control "
         "system. Checked: Git.",
         "POETRY_DYNAMIC_VERSIONING_BYPASS"},
        {"pdm.backend.exceptions: Cannot find the version from SCM or SCM isn't detected.",
         "PDM_BUILD_SCM_VERSION"},
        {"fatal: not a git repository (or any of the parent directories): .git",
         "$STOKER_GIT_COMMIT"}}) {
    EXPECT_NE(GitAdvice(block(line)).find(name), std::string::npos) << line;
  }
  EXPECT_EQ(GitAdvice(block("ModuleNotFoundError: No module named 'git'")), "");
  EXPECT_EQ(GitAdvice(""), "");
}

TEST(PipWords, WhatAPackageSaidToUv) {
  const std::string output =
      "Using Python 3.11.2 environment at: v\n"
      "error: Failed to download and build `flash-attn==2.5`\n"
      "  cause: Call to `setuptools.build_meta` failed (exit status: 1)\n\n"
      "         [stdout]\n         hello\n\n         [stderr]\n"
      "         Traceback (most recent call last):\n           File \"<string>\", line 3\n"
      "         RuntimeError: CUDA_HOME is not set\n\n"
      "hint: This usually indicates a problem with the package\n";
  EXPECT_EQ(WhyPipFailed(output), "building flash-attn==2.5: RuntimeError: CUDA_HOME is not set");
  EXPECT_EQ(WhyPipFailed("Using Python 3.11.2 environment at: v\n"
                         "error: No solution found when resolving dependencies\n"
                         "  cause: Because only numpy>=1.3.0 is available\n"),
            "error: No solution found when resolving dependencies / cause: Because only "
            "numpy>=1.3.0 is available");
}

}  // namespace
}  // namespace stoker::node

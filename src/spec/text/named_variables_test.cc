// SPDX-License-Identifier: Apache-2.0
#include "spec/text/named_variables.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "base/text.h"

namespace stoker {
namespace {

std::string Named(std::string_view text) {
  std::set<std::string> names;
  ForEachNamedVariable(text, [&](std::string_view name) { names.emplace(name); });
  return Join({names.begin(), names.end()}, " ");
}

// Each names X, and nothing that could be a variable besides.
TEST(NamedVariables, Forms) {
  for (const char* text : {"echo $X",
                           "a${X}b",
                           "${X:-1}",
                           "${X:=1}",
                           "${X-1}",
                           "${X?no}",
                           "${X+y}",
                           "${X%.*}",
                           "${X##*/}",
                           "${X//a/b}",
                           "${#X}",
                           "${X^^}",
                           "\"$X\"",
                           "'$X'",
                           "$X/$X",  // shells
                           "$(X)",
                           "$(X:.c=.o)",
                           "--n $(X)",  // make
                           "n=$((X*2))",
                           "$(( 0x1f + X ))",  // arithmetic
                           "lr: ${oc.env:X}",
                           "lr: ${oc.env:X,0.1}",
                           "${env:X}",  // Hydra
                           "os.environ['X']",
                           "os.environ[\"X\"]",
                           "os.environ.get('X')",
                           "os.environ.get(\"X\", 1)",
                           "os.environ.get(\n    \"X\",\n    1)",
                           "os.environ.setdefault('X', '1')",
                           "os.environ.pop('X', None)",
                           "environ['X']",
                           "os.getenv('X')",
                           "os.getenv( \"X\" )",
                           "os.getenv(key='X')",
                           "getenv(\"X\")",
                           "\"X\" in os.environ",
                           "'X' not in os.environ",
                           "f\"{os.environ['X']}\"",
                           "python -c \"os.environ.get(\\\"X\\\")\"",  // Python
                           "env.int('X')",
                           "env('X')",
                           "@click.option(envvar='X')",
                           "envvar=['X']",  // its tools
                           "process.env.X",
                           "process.env['X']",
                           "std::env::var(\"X\")",
                           "env::var(\"X\")",
                           "option_env!(\"Y\"); env!(\"Y\"); env::var_os(\"X\")",
                           "os.Getenv(\"X\")",
                           "os.LookupEnv(\"X\")",
                           "System.getenv(\"X\")",
                           "ENV[\"X\"]",
                           "ENV.fetch('X')",
                           "get(ENV, \"X\", 1)",
                           "$ENV{X}",
                           "$ENV{'X'}",
                           "Sys.getenv('X')",
                           "Environment.GetEnvironmentVariable(\"X\")",
                           "{{ env_var('X') }}"}) {
    const std::string names = Named(text);
    const auto words = Split(names, ' ');
    EXPECT_NE(std::find(words.begin(), words.end(), "X"), words.end()) << text << ": " << names;
  }
}

TEST(NamedVariables, WhatIsNone) {
  for (const char* text : {"",
                           "$",
                           "${",
                           "$(",
                           "$((",
                           "X",
                           "X=1",
                           "echo X",
                           "$1",
                           "${1}",
                           "$((1+1))",
                           "env",
                           "env(",
                           "os.environ",
                           "os.environ[",
                           "os.environ[x]",
                           "os.getenv(",
                           "os.getenv('1X')",
                           "os.getenv('X Y')",
                           "getenv('X\")",
                           "in os.environ",
                           "' in env",
                           "environment",
                           "$(X Y)",
                           "${X.y}",
                           "\"\" in env",
                           "envelope = {'a': 1}"}) {
    EXPECT_EQ(Named(text), "") << text;
  }
  EXPECT_EQ(Named("$(date) ${LR} $epochs"), "LR date epochs");  // who asks knows what there is
}

// Any bytes, cut anywhere.
TEST(NamedVariables, EachBeginning) {
  const std::string text =
      "a ${X:-1} $((Y+1)) os.environ.get(\"Z\") 'Q' in os.environ $(M) process.env.N envvar=['E'";
  for (size_t n = 0; n <= text.size(); ++n) {
    ForEachNamedVariable(std::string(text, 0, n), [&](std::string_view name) {
      EXPECT_NE(text.find(name), std::string::npos);
    });
  }
}

std::vector<std::string> NamesOfThePage(const std::set<std::string>& sections) {
  std::ifstream in("docs/environment.md");
  EXPECT_TRUE(in.good()) << "tests run in the repository's root, which has docs/environment.md";
  std::stringstream text;
  text << in.rdbuf();
  std::vector<std::string> names;
  bool inside = false;
  for (const std::string& line : Split(text.str(), '\n')) {
    if (StartsWith(line, "## ")) inside = sections.count(line.substr(3)) > 0;
    if (!inside || !StartsWith(line, "| `")) continue;
    const std::vector<std::string> parts = Split(line.substr(0, line.find(" |")), '`');
    for (size_t i = 1; i < parts.size(); i += 2) names.push_back(parts[i]);
  }
  return names;
}

TEST(NamedVariables, WhatStokerSetsBelongsToThePlace) {
  const auto set = NamesOfThePage({"Always", "Where the job has them"});
  ASSERT_GT(set.size(), 40U);
  for (const std::string& name : set) {
    EXPECT_TRUE(BelongsToPlace(name.substr(0, name.find('<')) + "X") || BelongsToPlace(name))
        << name;
  }
  for (const char* name :
       {"RANK", "LOCAL_RANK", "WORLD_SIZE", "SLURM_JOB_ID", "OMPI_COMM_WORLD_RANK", "PWD", "SHELL",
        "LC_ALL", "DISPLAY", "SSH_AUTH_SOCK", "XDG_CACHE_HOME", "TMPDIR", "LD_LIBRARY_PATH",
        "CONDA_PREFIX", "PYTHONPATH", "https_proxy", "AWS_PROFILE"}) {
    EXPECT_TRUE(BelongsToPlace(name)) << name;
  }
  for (const char* name :
       {"EPOCHS", "LR", "DATA_DIR", "WANDB_MODE", "WANDB_PROJECT", "OMP_NUM_THREADS", "NCCL_DEBUG",
        "HF_HOME", "DEBUG", "SEED", "N", "PATHS", "HOME_DIR", "USE_AMP", "ranks"}) {
    EXPECT_FALSE(BelongsToPlace(name)) << name;
  }
}

}  // namespace
}  // namespace stoker

// SPDX-License-Identifier: Apache-2.0
#include "node/env/project/choose_project.h"

#include <gtest/gtest.h>

namespace stoker::node {
namespace {

// In shape: what public projects have at their root (some of it; their texts are not theirs here).
TEST(ChooseProject, OfPublicProjects) {
  struct Case {
    const char* project;
    std::set<std::string> files;
    const char* used;
    const char* unused;  // begins so
  };
  const Case cases[] = {
      {"karpathy/nanoGPT", {"train.py", "README.md"}, "", ""},
      {"karpathy/nanochat", {"pyproject.toml", "uv.lock", ".python-version"}, "uv.lock", ""},
      {"openai/whisper", {"pyproject.toml", "requirements.txt"}, "requirements.txt", ""},
      {"huggingface/lerobot", {"pyproject.toml", "requirements-ubuntu.txt"}, "pyproject.toml", ""},
      {"python-poetry/poetry", {"pyproject.toml", "poetry.lock"}, "poetry.lock", ""},
      {"pdm-project/pdm", {"pyproject.toml", "pdm.lock"}, "pdm.lock", ""},
      {"CompVis/latent-diffusion", {"environment.yaml", "setup.py"}, "", "environment.yaml is not"},
      {"NVIDIA/apex", {"setup.py", "pyproject.toml", "requirements.txt"}, "requirements.txt", ""},
      {"pypa/pipenv's own example", {"Pipfile", "Pipfile.lock"}, "", "Pipfile is not used"},
      {"openai/CLIP", {"setup.py", "requirements.txt"}, "requirements.txt", ""},
  };
  for (const Case& c : cases) {
    const ProjectChoice choice = ChooseProject(c.files, false);
    EXPECT_EQ(choice.file, c.used) << c.project;
    EXPECT_EQ(choice.unused.find(c.unused), 0U) << c.project << ": " << choice.unused;
    EXPECT_EQ(choice.unused.empty(), c.unused[0] == 0) << c.project;
  }
}

TEST(ChooseProject, AnActivatedEnvironmentStaysTheJobs) {
  const ProjectChoice choice = ChooseProject({"pyproject.toml", "uv.lock"}, true);
  EXPECT_EQ(choice.file, "");
  EXPECT_EQ(choice.unused, "uv.lock is not used: the job has the environment that you stand in");
  EXPECT_EQ(ChooseProject({"requirements.txt", "uv.lock"}, true).file, "requirements.txt");
  EXPECT_EQ(ChooseProject({"setup.py"}, true).unused, "");
  EXPECT_EQ(ChooseProject({"uv.lock"}, false).file, "");
}

TEST(ChooseProject, LeavesLocksToTheProjectsTool) {
  const ProjectChoice choice = ChooseProject({"pyproject.toml", "uv.lock"}, false, "uv run x.py");
  EXPECT_EQ(choice.file, "");
  EXPECT_EQ(choice.unused, "uv.lock is left to the job itself, which has 'uv run'");
  EXPECT_EQ(ChooseProject({"pyproject.toml"}, false, "\nuv sync").file, "");
  EXPECT_EQ(ChooseProject({"requirements.txt"}, false, "uv run x.py").file, "requirements.txt");
  EXPECT_EQ(ChooseProject({"Pipfile"}, false, "pipenv run x").unused, "");
  EXPECT_EQ(ChooseProject({"pyproject.toml"}, false, "python3 x.py").file, "pyproject.toml");
}

TEST(ChooseProject, NeedsThatComeFromElsewhere) {
  const std::string needs =
      "numpy>=1\nMy_lib[gpu]>=2 ; python_version > '3'\ntorch\nother @ git+https://h/o\n";
  EXPECT_EQ(NeedsWithSource(needs, {"my-lib", "torch", "unused"}),
            (std::vector<std::string>{"My_lib", "torch"}));
  EXPECT_TRUE(NeedsWithSource(needs, {"torchvision"}).empty());
  EXPECT_TRUE(NeedsWithSource(needs, {}).empty());
}

TEST(ChooseProject, TheProjectsPython) {
  EXPECT_TRUE(PythonAllowed("3.11.2", ""));
  EXPECT_TRUE(PythonAllowed("3.11.2", ">=3.10,<3.13"));
  EXPECT_TRUE(PythonAllowed("3.11.2", ">= 3.11, != 3.9.*"));
  EXPECT_FALSE(PythonAllowed("3.11.2", ">=3.12"));
  EXPECT_FALSE(PythonAllowed("3.13.0", ">=3.10,<3.13"));
  EXPECT_TRUE(PythonAllowed("3.11.2", "==3.11.*"));
  EXPECT_FALSE(PythonAllowed("3.12.2", "==3.11.*"));
  EXPECT_TRUE(PythonAllowed("3.12.2", "~=3.11"));
  EXPECT_FALSE(PythonAllowed("3.12.2", "~=3.11.0"));
  EXPECT_FALSE(PythonAllowed("4.0.0", "~=3.11"));
  EXPECT_TRUE(PythonIsThat("3.11.2", "3.11\n"));
  EXPECT_TRUE(PythonIsThat("3.11.2", "3.11.9\n"));
  EXPECT_FALSE(PythonIsThat("3.11.2", "3.12\n"));
  EXPECT_TRUE(PythonIsThat("3.11.2", "pypy\n"));
}

}  // namespace
}  // namespace stoker::node

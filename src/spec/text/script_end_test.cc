// SPDX-License-Identifier: Apache-2.0
#include "spec/text/script_end.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace stoker {
namespace {

std::string End(std::string_view script) {
  const auto end = EndsInPipe(script);
  return end ? end->hidden + "|" + end->last : "";
}

TEST(ScriptEnd, Pipes) {
  EXPECT_EQ(End("python3 train.py | tee log"), "python3|tee");
  EXPECT_EQ(End("python3 train.py 2>&1 | tee -a log\n\n# the end\n"), "python3|tee");
  EXPECT_EQ(End("set -e\ncd x\nLR=1 /usr/bin/python t.py |& grep -v warn"), "python|grep");
  EXPECT_EQ(End("python t.py \\\n  --lr 1 |\n  tee log"), "python|tee");
  EXPECT_EQ(End("a && python t.py | tee log; exit $?"), "python|tee");
  EXPECT_EQ(End("for i in 1 2; do\n  python t.py | tee log\ndone"), "python|tee");
  EXPECT_EQ(End("(cd x; python t.py) | tee log"), "python|tee");
  EXPECT_EQ(End("{ python t.py; } 2>&1 | tee log"), "}|tee");
  EXPECT_EQ(End("python - <<'EOF' | tee log\nprint(1 or 2)\nEOF\n"), "python|tee");
  EXPECT_EQ(End("echo y | python t.py | tee log"), "python|tee");
  EXPECT_EQ(End("zcat d.gz | python t.py"), "zcat|python");
  EXPECT_EQ(End("cat d | python t.py"), "cat|python");
}

TEST(ScriptEnd, None) {
  for (const char* script : {"",
                             "python3 train.py",
                             "python t.py | tee log\necho done",
                             "a || b",
                             "python t.py > log 2>&1",
                             "set -o pipefail\npython t.py | tee log",
                             "set -euo pipefail; python t.py | tee log",
                             "python t.py | tee log; exit ${PIPESTATUS[0]}",
                             "echo 'a | b'",
                             "echo \"a | b\"",
                             "echo $(ls | wc -l)",
                             "n=`ls | wc -l`",
                             "# a | b",
                             "python t.py # | tee",
                             "echo a \\| b",
                             "yes | python t.py",
                             "python t.py >| log",
                             "python t.py &> log",
                             "cat <<EOF\na | b\nEOF\n",
                             "|",
                             "a |",
                             "'",
                             "$(",
                             "<<",
                             "<<E"}) {
    const std::string end = End(script);
    EXPECT_EQ(end, "") << script;
  }
}

TEST(ScriptEnd, OfACommand) {
  EXPECT_EQ(ScriptInCommand({"bash", "-c", "a | b"}), "a | b");
  EXPECT_EQ(ScriptInCommand({"/bin/bash", "-eux", "-lc", "a | b"}), "a | b");
  EXPECT_EQ(ScriptInCommand({"nohup", "sh", "-c", "a | b"}), "a | b");
  EXPECT_EQ(ScriptInCommand({"bash", "-o", "pipefail", "-c", "a | b"}), "");
  EXPECT_EQ(ScriptInCommand({"bash", "-eo", "pipefail", "-c", "a | b"}), "");
  EXPECT_EQ(ScriptInCommand({"bash", "train.sh", "-c", "x"}), "");
  EXPECT_EQ(ScriptInCommand({"python3", "-c", "1 | 2"}), "");
  EXPECT_EQ(Join(LastCommand("set -e\nbash scripts/t.sh --x 1\n"), " "), "bash scripts/t.sh --x 1");
  EXPECT_TRUE(IsShellScript("t.sh", ""));
  EXPECT_TRUE(IsShellScript("run", "#!/usr/bin/env bash\n"));
  EXPECT_TRUE(IsShellScript("run", "#!/bin/sh -e\n"));
  EXPECT_FALSE(IsShellScript("run.py", "#!/usr/bin/env python3\n"));
  EXPECT_FALSE(IsShellScript("run", "bash\n"));
}

TEST(ScriptEnd, TheCommandOfTheProgram) {
  const auto words = [](std::string_view script) { return Join(ProgramCommand(script), "|"); };
  EXPECT_EQ(
      words("pip install x\nA=1 python3 train.py --lr 0.1 \\\n  --name 'a b' | tee log\necho done"),
      "python3|train.py|--lr|0.1|--name|a b");
  EXPECT_EQ(words("python prepare.py --n 3 && torchrun train.py --lr=$LR > log.txt 2>&1"),
            "torchrun|train.py|--lr=$LR");
  EXPECT_EQ(words("python -m pkg.train --tag=\"x > y\""), "python|-m|pkg.train|--tag=x > y");
  EXPECT_EQ(words("cp -r a b; ./run.pyx --n 3; python -m pip install --pre x"), "");
  EXPECT_EQ(words(""), "");
}

}  // namespace
}  // namespace stoker

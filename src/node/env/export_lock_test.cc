// SPDX-License-Identifier: Apache-2.0
#include "node/env/export_lock.h"

#include <gtest/gtest.h>

namespace stoker::node {
namespace {

class NoPrograms : public ProcessRunner {
 public:
  Result<std::unique_ptr<Task>> Start(const TaskCommand& command, LogSink&) override {
    return Status(Code::kNotFound, "no program " + command.argv[0]);
  }
};

TEST(ExportLock, WithoutItsToolIsLeftToASetup) {
  NoPrograms runner;
  ShellStep step(runner);
  TextSink said;
  const std::string workdir = "/w";
  const Variables env;
  const EnvMaker by{workdir, env, step, said};
  const auto without = ExportLock(by, {"poetry.lock", "", "", "", false}, {}, "/w/none");
  EXPECT_TRUE(without.status().Is(Code::kInvalid));
  EXPECT_EQ(said.text, "");
  const auto with = ExportLock(by, {"poetry.lock", "", "", "", true}, {}, "/w/none");
  EXPECT_TRUE(with.ok() && !*with);
  EXPECT_EQ(said.text,
            "stoker: poetry.lock is not installed, as poetry is not on this machine: it is left to "
            "setup\n");
}

}  // namespace
}  // namespace stoker::node

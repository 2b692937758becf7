// SPDX-License-Identifier: Apache-2.0
#include "node/env/uv.h"

#include <gtest/gtest.h>

namespace stoker::node {
namespace {

// Ends at once, as it was told to.
class EndedStep : public Task {
 public:
  explicit EndedStep(int code) { exit_.exit_code = code; }
  std::optional<TaskExit> Poll() override { return exit_; }
  std::optional<TaskExit> Wait(int64_t) override { return exit_; }
  Result<std::vector<SignalledProcess>> Signal(int) override {
    return std::vector<SignalledProcess>();
  }
  Result<std::vector<SignalledProcess>> Stop() override { return std::vector<SignalledProcess>(); }
  bool SavesAtStop() override { return false; }
  Status End() override { return Status::Ok(); }
  TaskUsage Usage() override { return {}; }
  std::string mechanism() const override { return ""; }
  bool has_host_name() const override { return false; }
  std::vector<int> Processes() override { return {}; }

 private:
  TaskExit exit_;
};

// Notes programs; each ends by the next of `codes`.
class NotedSteps : public ProcessRunner {
 public:
  Result<std::unique_ptr<Task>> Start(const TaskCommand& command, LogSink&) override {
    ran.push_back(command.argv[0]);
    return std::unique_ptr<Task>(new EndedStep(codes.at(ran.size() - 1)));
  }
  std::vector<int> codes;
  std::vector<std::string> ran;
};

// "" = uv could not be shown what is seen, else how it ended.
std::string EndedBy(std::vector<int> codes, size_t steps) {
  NotedSteps runner;
  runner.codes = std::move(codes);
  ShellStep step(runner);
  TextSink sink;
  const std::string workdir = "/w";
  const Variables env;
  const EnvMaker by{workdir, env, step, sink};
  const auto exit = InstallByUv(by, "uv", {}, "/v", "/w/requirements.txt", false, sink);
  EXPECT_EQ(runner.ran.size(), steps);
  return exit.ok() && *exit ? std::to_string((*exit)->ShellCode()) : "";
}

TEST(Uv, ThatCouldNotBeShownWhatIsSeenHasNotRefused) {
  EXPECT_EQ(EndedBy({1, 0}, 2), "");
  EXPECT_EQ(EndedBy({0, 0, 1}, 3), "");
  EXPECT_EQ(EndedBy({0, 0, 0}, 3), "0");
  EXPECT_EQ(EndedBy({0, 2, 1}, 3), "2");
}

TEST(Uv, ReadsWhatItReadsAsPipDoes) {
  const UvAsk plain = AskForUv({"numpy>=1 # --pre is no option here\n-rmore.txt\n"
                                "--extra-index-url https://host/whl\n-e ./pkg\n"
                                "x @ https://host/a--b.whl ; python_version > '3'\n"},
                               {});
  EXPECT_EQ(plain.only_pip, "");
  EXPECT_TRUE(plain.arguments.empty());
  EXPECT_FALSE(plain.no_index);
  const UvAsk hashed = AskForUv({"a==1 \\\n\t--hash=sha256:00 --hash=sha256:01\n", "--pre\n"}, {});
  EXPECT_EQ(hashed.arguments, (std::vector<std::string>{"--require-hashes", "--prerelease=allow"}));
  EXPECT_TRUE(AskForUv({"--no-index\n"}, {}).no_index);
}

TEST(Uv, LeavesToPipWhatItWouldLeaveOut) {
  EXPECT_EQ(AskForUv({"a\n", "--trusted-host x\n"}, {}).only_pip, "it has --trusted-host");
  EXPECT_EQ(AskForUv({"a --global-option=--x\n"}, {}).only_pip, "it has --global-option");
  EXPECT_EQ(AskForUv({"a"}, {{"prefer-binary", "1"}}).only_pip, "pip is set up with prefer-binary");
}

TEST(Uv, HasPipsSettings) {
  const UvAsk ask = AskForUv({"a\n"}, {{"index-url", "https://me:word@host/simple"},
                                       {"find-links", "/a /b"},
                                       {"no-index", "false"},
                                       {"disable-pip-version-check", "1"}});
  EXPECT_EQ(ask.only_pip, "");
  EXPECT_EQ(ask.env, (Variables{{"UV_DEFAULT_INDEX", "https://me:word@host/simple"},
                                {"UV_FIND_LINKS", "/a,/b"}}));
  EXPECT_TRUE(ask.arguments.empty());
  const UvAsk none = AskForUv({"a\n"}, {{"no-index", "1"}});
  EXPECT_TRUE(none.no_index);
  EXPECT_EQ(none.arguments, std::vector<std::string>{"--no-index"});
}

TEST(Uv, RefusesBeforeItBegins) {
  EXPECT_TRUE(UvRefuses("error: Couldn't parse requirement in `r.txt` at position 0\n"));
  EXPECT_FALSE(UvRefuses("error: No solution found when resolving dependencies\n"));
  EXPECT_FALSE(UvRefuses("         error: Unsupported compiler\n"));
}

TEST(Uv, IsOfAVersionAndAMachine) {
  EXPECT_TRUE(UvIsNewEnough("uv 0.13.9 (x86_64-unknown-linux-gnu)\n"));
  EXPECT_TRUE(UvIsNewEnough("uv 1.0.0\n"));
  EXPECT_FALSE(UvIsNewEnough("uv 0.4.30\n"));
  EXPECT_FALSE(UvIsNewEnough("uvloop 9.9"));
  EXPECT_FALSE(UvIsNewEnough("uv "));
  EXPECT_NE(UvWheelFor("x86_64", "glibc")->sha256, UvWheelFor("x86_64", "")->sha256);
  EXPECT_TRUE(UvWheelFor("aarch64", ""));
  EXPECT_FALSE(UvWheelFor("riscv64", "glibc"));
}

}  // namespace
}  // namespace stoker::node

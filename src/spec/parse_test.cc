// SPDX-License-Identifier: Apache-2.0
// What a job file means.
#include "spec/parse.h"

#include <gtest/gtest.h>

#include "spec/print.h"
#include "test/kit/places.h"

namespace stoker {
namespace {

ParseOptions Options() {
  ParseOptions options;
  options.base_dir = "/work/dir";
  options.home = "/home/ada";
  return options;
}

JobSpec Parsed(const std::string& text, const ParseOptions& options = Options()) {
  const Result<JobSpec> spec = ParseJobSpec(text, options);
  EXPECT_TRUE(spec.ok()) << spec.status().message();
  return spec.ok() ? *spec : JobSpec{};
}

std::string Refused(const std::string& text, const ParseOptions& options = Options()) {
  const Result<JobSpec> spec = ParseJobSpec(text, options);
  EXPECT_FALSE(spec.ok()) << text;
  return spec.ok() ? "" : spec.status().message();
}

constexpr const char* kFull = R"(name: digits
workdir: ~/code//train/./
num_nodes: 2
resources:
  infra: local
  use_spot: true
  labels: {team: vision, cost-centre: 42}
  job_recovery:
    strategy: EAGER_NEXT_REGION
    max_restarts_on_errors: 3
    recover_on_exit_codes: [33, 137]
envs:
  MODE: fast
  RATE: 1e-3
  ON: yes
hyperparameters:
  epochs: 20
  lr: 0.10
  betas: [.9, 0.999]
  opt: {name: adam, amsgrad: true, eps: 1e-8}
  note: "20"
  none: null
setup: |
  pip list
run: |
  set -e

  python train.py
checkpoints: {path: ./ckpt/, every: auto, keep: 5, quiet: 500ms, signal: USR1, complete: done.txt}
outputs: [output, logs/a/, '*.onnx', {path: runs/**/best.pt, required: true}]
limits: {max_duration: 8h, stall: 30m, idle_gpu: {below: 7%, for: 20m}, kept_size: 5GB,
  kept_files: 0}
contract: torchrun
recovery: controller
stop_grace: 1m30s
config: {stoker: {ending: cgroup}}
)";

TEST(KeepFailed, IsForMachinesThatACloudLends) {
  const ParsedSpec there =
      ParseJobSpecAll("resources: {infra: aws/us-east-1}\nkeep_failed: 30m\nrun: x", {});
  ASSERT_TRUE(there.errors.empty());
  EXPECT_TRUE(there.notes.empty());
  EXPECT_EQ(there.spec.keep_failed, Duration::Minutes(30));
  ParseOptions flags;
  flags.overrides.infra = "aws/us-east-1";
  flags.overrides.keep_failed = "45m";
  EXPECT_EQ(ParseJobSpecAll("run: x", flags).spec.keep_failed, Duration::Minutes(45));
  const ParsedSpec here = ParseJobSpecAll("keep_failed: 30m\nrun: x", {});
  EXPECT_TRUE(here.errors.empty());
  ASSERT_EQ(here.notes.size(), 1u);
  EXPECT_EQ(here.notes[0].find("keep_failed means nothing here"), 0u);
  std::vector<std::string> notes;
  ParseOptions by_flag;
  by_flag.overrides.keep_failed = "45m";
  ASSERT_TRUE(SpecFromCommand({"true"}, by_flag, &notes).ok());
  ASSERT_EQ(notes.size(), 1u) << "a flag is not dropped in silence either";
  EXPECT_EQ(notes[0], here.notes[0]);
  EXPECT_FALSE(here.spec.keep_failed);
}

TEST(Parse, EveryKey) {
  const JobSpec spec = Parsed(kFull);
  EXPECT_EQ(spec.name, "digits");
  EXPECT_EQ(spec.workdir, "/home/ada/code/train");
  EXPECT_EQ(spec.num_nodes, 2);
  EXPECT_TRUE(spec.resources.use_spot);
  EXPECT_EQ(spec.resources.labels.at("team"), "vision");
  EXPECT_EQ(spec.resources.labels.at("cost-centre"), "42");
  EXPECT_EQ(spec.job_recovery.strategy, "EAGER_NEXT_REGION");
  EXPECT_EQ(spec.job_recovery.max_restarts_on_errors, 3);
  EXPECT_EQ(spec.job_recovery.recover_on_exit_codes, (std::vector<int>{33, 137}));
  using Pairs = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(spec.envs, (Pairs{{"MODE", "fast"}, {"RATE", "1e-3"}, {"ON", "yes"}}));
  EXPECT_EQ(spec.hyperparameters, (Pairs{{"epochs", "20"},
                                         {"lr", "0.10"},
                                         {"betas", "[0.9,0.999]"},
                                         {"opt", R"({"name":"adam","amsgrad":true,"eps":1e-8})"},
                                         {"note", "\"20\""},
                                         {"none", "null"}}));
  EXPECT_EQ(spec.setup, "pip list\n");
  EXPECT_EQ(spec.run, "set -e\n\npython train.py\n");
  EXPECT_EQ(spec.checkpoints.path, "ckpt");
  EXPECT_TRUE(spec.checkpoints.path_given);
  EXPECT_EQ(spec.checkpoints.keep, 5);
  EXPECT_EQ(spec.checkpoints.quiet, Duration::Ms(500));
  EXPECT_EQ(spec.checkpoints.signal, "SIGUSR1");
  EXPECT_EQ(spec.checkpoints.complete, "done.txt");
  EXPECT_EQ(spec.outputs, (std::vector<OutputSpec>{
                              {"output"}, {"logs/a"}, {"*.onnx"}, {"runs/**/best.pt", true}}));
  EXPECT_TRUE(spec.outputs_given);
  EXPECT_EQ(spec.limits.max_duration, Duration::Hours(8));
  EXPECT_EQ(spec.limits.stall, Duration::Minutes(30));
  EXPECT_EQ(spec.limits.idle_gpu, (IdleGpuSpec{7, Duration::Minutes(20)}));
  EXPECT_EQ(spec.limits.kept_size, 5'000'000'000);
  EXPECT_EQ(spec.limits.kept_files, 0);
  EXPECT_EQ(spec.recovery, RecoveryMode::kController);
  EXPECT_EQ(spec.stop_grace, Duration::Seconds(90));
  EXPECT_EQ(spec.ending, "cgroup");
}

TEST(Parse, SetupIsAScriptOrAMapThatNamesWhatItsResultIsOf) {
  EXPECT_FALSE(Parsed("setup: make\nrun: x").setup_cache.has_value());
  const JobSpec spec = Parsed("setup: {run: make, cache: [./Makefile, native/]}\nrun: x");
  EXPECT_EQ(spec.setup, "make");
  EXPECT_EQ(spec.setup_cache, (std::vector<std::string>{"Makefile", "native"}));
  EXPECT_EQ(Parsed("setup: {run: make, cache: []}\nrun: x").setup_cache,
            std::vector<std::string>());
  EXPECT_FALSE(Parsed("setup: {run: make}\nrun: x").setup_cache.has_value());
}

// Without a list, what nobody declared is kept; an empty one says that nothing is to be.
TEST(Parse, AnEmptyListOfOutputsIsNotNone) {
  EXPECT_FALSE(Parsed("run: x").outputs_given);
  const JobSpec none = Parsed("outputs: []\nrun: x");
  EXPECT_TRUE(none.outputs_given);
  EXPECT_TRUE(none.outputs.empty());
  ParseOptions options = Options();
  options.overrides.outputs = {"out"};
  EXPECT_TRUE(Parsed("run: x", options).outputs_given);
  options = Options();
  options.defaults.kept_files = 7;
  EXPECT_EQ(Parsed("run: x", options).limits.kept_files, 7);
  EXPECT_EQ(Parsed("run: x\nlimits: {kept_files: 8}", options).limits.kept_files, 8);
}

TEST(Parse, LittleIsEnoughAndDefaultsHold) {
  JobSpec expected;
  expected.name = "my-model";
  expected.run = "true";
  ParseOptions options = Options();
  options.default_name = "my model!";
  EXPECT_EQ(Parsed("run: true", options), expected);
  // Windows line ends, a byte order mark, a document mark and a comment change nothing.
  EXPECT_EQ(Parsed("\xef\xbb\xbf---\r\n# c\r\nrun: true\r\n...\r\n", options), expected);
  EXPECT_EQ(Parsed("run: |\r\n  a\r\n  b\r\n").run, "a\nb\n");
}

TEST(Parse, SkyPilotSpellings) {
  EXPECT_EQ(Parsed("resources: {cloud: Local}\nrun: x").resources.infra, "local");
  EXPECT_EQ(Parsed("resources: {spot_recovery: FAILOVER}\nrun: x").job_recovery.strategy,
            "FAILOVER");
  EXPECT_EQ(Parsed("job_recovery: {recover_on_exit_codes: 33}\nrun: x")
                .job_recovery.recover_on_exit_codes,
            std::vector<int>{33});
  EXPECT_TRUE(Parsed("resources: {use_spot: yes}\nrun: x").resources.use_spot);
}

TEST(Parse, AliasesAreExpanded) {
  const JobSpec spec = Parsed("envs:\n  A: &v text\n  B: *v\nrun: x");
  EXPECT_EQ(spec.envs[1].second, "text");
}

TEST(Parse, CommandIsAnotherFormOfRun) {
  const JobSpec spec = Parsed("command: [python, train.py, --n, 3, '']");
  EXPECT_EQ(spec.argv, (std::vector<std::string>{"python", "train.py", "--n", "3", ""}));
  EXPECT_EQ(spec.run, "");
}

TEST(Parse, SettingsAreDefaultsAndFlagsWin) {
  ParseOptions options = Options();
  options.defaults.keep = 9;
  options.defaults.recovery = RecoveryMode::kController;
  options.defaults.stop_grace = Duration::Seconds(5);
  JobSpec spec = Parsed("checkpoints: {keep: 2}\nrun: x", options);
  EXPECT_EQ(spec.checkpoints.keep, 2);
  EXPECT_EQ(spec.recovery, RecoveryMode::kController);
  EXPECT_EQ(spec.stop_grace, Duration::Seconds(5));

  SpecOverrides& flags = options.overrides;
  flags.name = "other";
  flags.workdir = "sub";
  flags.num_nodes = "3";
  flags.infra = "local";
  flags.use_spot = true;
  flags.envs = {"A=1=2", "NEW="};
  flags.hyperparameters = {"lr=1e-4", "layers=[1, 2]", "s='3'", "empty="};
  flags.outputs = {"out"};
  flags.checkpoints = "/abs/ckpt";
  flags.keep = "1";
  flags.max_duration = "2h";
  flags.stall = "1m";
  flags.recovery = "node";
  flags.stop_grace = "0s";
  flags.max_restarts = "4";
  flags.ending = "pidns";
  spec = Parsed("envs: {A: , B: b}\nhyperparameters: {lr: 1}\noutputs: [o]\nrun: x", options);
  EXPECT_EQ(spec.name, "other");
  EXPECT_EQ(spec.workdir, "/work/dir/sub");
  EXPECT_EQ(spec.num_nodes, 3);
  EXPECT_TRUE(spec.resources.use_spot);
  using Pairs = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(spec.envs, (Pairs{{"A", "1=2"}, {"B", "b"}, {"NEW", ""}}));
  EXPECT_EQ(spec.hyperparameters,
            (Pairs{{"lr", "1e-4"}, {"layers", "[1,2]"}, {"s", "\"3\""}, {"empty", "\"\""}}));
  EXPECT_EQ(spec.outputs, (std::vector<OutputSpec>{{"o"}, {"out"}}));
  EXPECT_EQ(spec.checkpoints.path, "/abs/ckpt");
  EXPECT_EQ(spec.checkpoints.keep, 1);
  EXPECT_EQ(spec.limits.max_duration, Duration::Hours(2));
  EXPECT_EQ(spec.limits.stall, Duration::Minutes(1));
  EXPECT_EQ(spec.recovery, RecoveryMode::kNode);
  EXPECT_EQ(spec.stop_grace, Duration::Ms(0));
  EXPECT_EQ(spec.job_recovery.max_restarts_on_errors, 4);
  EXPECT_EQ(spec.ending, "pidns");
}

TEST(Parse, EnvFromTheCallersEnvironment) {
  ParseOptions options = Options();
  options.overrides.envs = {"HERE"};
  EXPECT_NE(Refused("run: x", options).find("--env: 'HERE' gives no value"), std::string::npos);
  options.environment = [](const std::string& name) -> std::optional<std::string> {
    if (name == "HERE") return "value";
    return std::nullopt;
  };
  EXPECT_EQ(Parsed("envs: {HERE: }\nrun: x", options).envs[0].second, "value");
  options.overrides.envs = {"AWAY"};
  EXPECT_NE(Refused("run: x", options).find("'AWAY' is not set here"), std::string::npos);
}

TEST(Parse, WorkdirIsLookedFor) {
  ParseOptions options = Options();
  std::string asked;
  options.is_directory = [&](const std::string& path) {
    asked = path;
    return path == "/work/dir/there";
  };
  EXPECT_EQ(Parsed("workdir: ./there\nrun: x", options).workdir, "/work/dir/there");
  EXPECT_EQ(Refused("run: x\nworkdir: gone", options),
            "job.yaml:2:10: 'workdir' 'gone' is not a directory. It was looked for at "
            "/work/dir/gone");
  EXPECT_EQ(asked, "/work/dir/gone");
}

TEST(Parse, OneOutputNeedsNoList) {
  const JobSpec spec = Parsed("run: x\noutputs: result.txt\n");
  ASSERT_EQ(spec.outputs.size(), 1u);
  EXPECT_EQ(spec.outputs[0].path, "result.txt");
}

// Without 'workdir' the program starts in an empty folder.
TEST(Parse, NoCodeGoesAlong) {
  ParseOptions options = Options();
  options.standing = "/work/dir";
  options.exists = [](const std::string& path) {
    return path == "/work/dir/train.py" || path == "/work/dir/tools/go.sh";
  };
  for (const char* sure :
       {"run: python3 train.py --lr 1\n", "run: |\n  # first\n  set -e\n  python -u ./train.py\n",
        "run: tools/go.sh | tee log\n", "run: bash tools/go.sh\n",
        "run: torchrun --standalone --nproc_per_node 2 train.py\n",
        "command: [python3, train.py]\n"}) {
    const std::string said = Refused(sure, options);
    EXPECT_NE(said.find("which lies beside the job file"), said.npos) << said;
    EXPECT_NE(said.find("Write 'workdir: .'"), said.npos) << said;
  }
  const auto notes = [&](const std::string& text) {
    const ParsedSpec parsed = ParseJobSpecAll(text, options);
    EXPECT_TRUE(parsed.errors.empty()) << text;
    return parsed.notes;
  };
  for (const char* maybe : {"run: git clone https://x/y . && python3 train.py\n",
                            "run: |\n  wget https://x/train.py\n  python3 train.py\n",
                            "setup: cp -r ~/code/. .\nrun: python3 train.py\n",
                            "run: test -f train.py && python3 train.py\n", "run: cat tools/go.sh\n",
                            "run: python3 -m index --out train.py\n"}) {
    const auto said = notes(maybe);
    ASSERT_EQ(said.size(), 1u) << maybe;
    EXPECT_EQ(said[0].find("no code goes along"), 0u) << said[0];
  }
  for (const char* nothing :
       {"run: python3 other.py\n", "run: echo hi\n", "run: python3 /work/dir/train.py\n",
        "run: cd $HOME && python3 ../train.py\n", "workdir: .\nrun: python3 train.py\n"}) {
    EXPECT_TRUE(notes(nothing).empty()) << nothing;
  }
  options.standing = "";
  EXPECT_TRUE(notes("run: python3 train.py\n").empty()) << "there is no job file";
}

TEST(Parse, AllMistakesInTheOrderOfTheFile) {
  ParseOptions options = Options();
  options.overrides.keep = "many";
  const std::string message = Refused("nmae: x\nnum_nodes: 0\nlimits: {stall: 5}\nrun: x", options);
  EXPECT_EQ(
      message,
      "job.yaml:1:1: unknown key 'nmae'. Did you mean 'name'?\n"
      "job.yaml:2:12: 'num_nodes' is 0, which is out of range. Between 1 and 1024 is possible\n"
      "job.yaml:3:17: 'limits.stall' is not a duration: '5'. Give it a unit: 5s, 5m or 5h\n"
      "--keep: 'checkpoints.keep' must be a whole number, not 'many'");
  EXPECT_EQ(ParseJobSpec("run: x", options).code(), Code::kUsage);
  EXPECT_EQ(ParseJobSpec("rnu: x", Options()).code(), Code::kInvalid);
}

TEST(Parse, AStoredSpecNeedsNothingOfTheMachine) {
  const JobSpec spec = Parsed(kFull);
  const Result<JobSpec> stored = ParseStoredSpec(PrintJobSpec(spec));
  ASSERT_TRUE(stored.ok()) << stored.status().message();
  EXPECT_EQ(*stored, spec);
  // What a later version calls a secret does not lock up jobs that are already in the ledger.
  EXPECT_TRUE(ParseStoredSpec("name: a\nenvs: {HF_TOKEN: x}\nrun: x").ok());
  EXPECT_FALSE(ParseStoredSpec("name: a\nworkdir: relative\nrun: x").ok());
}

TEST(Parse, Include) {
  ParseOptions options = Options();
  EXPECT_EQ(Parsed("include: ./data\nrun: x").include, std::vector<std::string>{"data"});
  options.overrides.includes = {"*.bin", "data/"};
  const auto spec = ParseJobSpec("include: [data/, '/raw']\nrun: x", options);
  ASSERT_TRUE(spec.ok()) << spec.status().message();
  EXPECT_EQ(spec->include, (std::vector<std::string>{"data/", "/raw", "*.bin"}));
  options.overrides.includes = {"../data"};
  EXPECT_NE(Refused("run: x", options).find("--include: 'include' cannot be '../data'"),
            std::string::npos);
  for (const char* wrong : {"!x", "#x", "''", "[a, b/../c]", "~/data", "{a: b}"}) {
    EXPECT_FALSE(ParseJobSpec(std::string("include: ") + wrong + "\nrun: x", Options()).ok())
        << wrong;
  }
}

TEST(Parse, ShellEnv) {
  EXPECT_TRUE(Parsed("shell_env: all\nrun: x").whole_shell);
  EXPECT_FALSE(Parsed("run: x").whole_shell);
  EXPECT_FALSE(ParseJobSpec("shell_env: some\nrun: x", Options()).ok());
}

TEST(Command, OneLineForm) {
  ParseOptions options = Options();
  const auto spec = SpecFromCommand({"python", "train.py", "--epochs", "20", "a b\n\"é"}, options);
  ASSERT_TRUE(spec.ok()) << spec.status().message();
  EXPECT_EQ(spec->name, "train");
  EXPECT_EQ(spec->workdir, "/work/dir");
  EXPECT_EQ(spec->argv.back(), "a b\n\"é");
  EXPECT_EQ(spec->run, "");
  options.overrides.name = "mine";
  EXPECT_EQ(SpecFromCommand({"x"}, options)->name, "mine");
}

TEST(Command, BadOnesAreUsageErrors) {
  ParseOptions options = Options();
  using Argv = std::vector<std::string>;
  const Argv many(20'000, "x");
  const std::string big(200'000, 'x');
  for (const Argv& argv : {Argv{}, Argv{""}, Argv{"a", std::string("b\0c", 3)}, Argv{"a", "\xff"},
                           Argv{"a", big}, many, Argv{"a", "--key=AKIAIOSFODNN7EXAMPLE"}}) {
    const auto spec = SpecFromCommand(argv, options);
    ASSERT_FALSE(spec.ok());
    EXPECT_EQ(spec.code(), Code::kUsage) << spec.status().message();
    EXPECT_EQ(spec.status().message().find("AKIA"), std::string::npos);
  }
  options.overrides.num_nodes = "0";
  EXPECT_EQ(SpecFromCommand({"x"}, options).code(), Code::kUsage);
  options = Options();
  options.is_directory = [](const std::string&) { return false; };
  EXPECT_FALSE(SpecFromCommand({"x"}, options).ok());
}

TEST(Command, Names) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"python", "train.py"}, "train"},
      {{"/usr/bin/python3.11", "-u", "src/my model.py"}, "my-model"},
      {{"python", "-m", "pkg.train", "--x"}, "train"},
      {{"python3", "-m", "torch.distributed.run", "--nnodes=2", "ddp.py"}, "ddp"},
      {{"torchrun", "--standalone", "ddp.py"}, "ddp"},
      {{"bash", "-c", "echo x.py"}, "bash"},
      {{"env", "A=1", "python", "t.py"}, "t"},
      {{"./train.sh"}, "train"},
      {{"/opt/bin/trainer"}, "trainer"},
      {{"..."}, "job"},
      {{"python", "数.py"}, "job"},
      {{std::string(100, 'a')}, std::string(63, 'a')},
  };
  for (const auto& [argv, name] : cases) EXPECT_EQ(NameFromCommand(argv), name) << argv[0];
}

}  // namespace
}  // namespace stoker

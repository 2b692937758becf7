// SPDX-License-Identifier: Apache-2.0
// The stored form: what is printed is what was meant, for any spec and any bytes.
#include "spec/print.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "base/prng.h"
#include "spec/parse.h"
#include "spec/text/json_text.h"
#include "test/kit/places.h"
#include "test/kit/rounds.h"

namespace stoker {
namespace {

// UTF-8 text that YAML implementations stumble over, from the whole range of code points.
std::string RandomText(Prng* prng, int64_t longest) {
  static const std::vector<std::string> kTraps = {"\n",
                                                  "\n\n",
                                                  "\r\n",
                                                  "\r",
                                                  "\t",
                                                  " ",
                                                  "  ",
                                                  ": ",
                                                  "- ",
                                                  "#",
                                                  " #",
                                                  "'",
                                                  "\"",
                                                  "\\",
                                                  "---",
                                                  "...",
                                                  "%",
                                                  "&a",
                                                  "*a",
                                                  "!t",
                                                  "|",
                                                  ">",
                                                  "{",
                                                  "}",
                                                  "[",
                                                  "]",
                                                  ",",
                                                  "null",
                                                  "~",
                                                  "true",
                                                  "\\n",
                                                  "\\u0041",
                                                  "$X",
                                                  "é",
                                                  "数",
                                                  "😀",
                                                  "\xc2\x85",
                                                  "\xe2\x80\xa8",
                                                  "\xe2\x80\xa9",
                                                  "\xef\xbb\xbf",
                                                  "\x01",
                                                  "\x1b",
                                                  "\x7f",
                                                  "\xc2\x9b",
                                                  "abc",
                                                  "0",
                                                  "1e5",
                                                  "\n---\n",
                                                  "\n...\n",
                                                  "\n  x",
                                                  "\n\tx",
                                                  " \n"};
  std::string text;
  for (int64_t n = prng->Between(0, longest); n > 0; --n) {
    text += prng->Chance(1, 2) ? kTraps[prng->Below(kTraps.size())]
                               : std::string(1, static_cast<char>(prng->Between(' ', '~')));
  }
  return text;
}

std::string RandomName(Prng* prng) { return "n" + prng->Base32(1 + prng->Below(12)); }

std::string RandomJson(Prng* prng, int depth) {
  switch (prng->Below(depth > 0 ? 8 : 6)) {
    case 0:
      return "null";
    case 1:
      return prng->Chance(1, 2) ? "true" : "false";
    case 2:
      return std::to_string(prng->Between(-1'000'000, 1'000'000));
    case 3:
      return std::to_string(prng->Between(0, 99)) + "." + std::to_string(prng->Below(1000));
    case 4:
      return std::to_string(prng->Between(1, 9)) + "e-" + std::to_string(prng->Below(30));
    case 5:
      return JsonString(RandomText(prng, 10));
    case 6: {
      std::string out = "[";
      for (uint64_t n = prng->Below(4); n > 0; --n) {
        out += (out.size() > 1 ? "," : "") + RandomJson(prng, depth - 1);
      }
      return out + "]";
    }
    default:
      break;
  }
  std::string out = "{";
  for (uint64_t n = prng->Below(4); n > 0; --n) {
    const std::string key = JsonString(RandomText(prng, 5) + std::to_string(n));
    out += (out.size() > 1 ? "," : "") + key + ":" + RandomJson(prng, depth - 1);
  }
  return out + "}";
}

void RandomProgram(Prng* prng, JobSpec* spec) {
  for (uint64_t n = prng->Below(4); n > 0; --n) {
    spec->envs.emplace_back("E" + std::to_string(n), RandomText(prng, 30));
  }
  for (uint64_t n = prng->Below(3); n > 0; --n) {
    spec->secrets.push_back({"S" + std::to_string(n), prng->Chance(1, 2) ? "ssm:/team/s" : ""});
  }
  if (spec->secrets.empty()) spec->container.login = {};
  for (uint64_t n = prng->Below(5); n > 0; --n) {
    spec->hyperparameters.emplace_back(RandomName(prng) + "-" + std::to_string(n),
                                       RandomJson(prng, 3));
  }
  spec->setup = RandomText(prng, 40);
  if (prng->Chance(1, 3)) {
    spec->argv.push_back("p" + RandomText(prng, 10));
    for (uint64_t n = prng->Below(5); n > 0; --n) spec->argv.push_back(RandomText(prng, 20));
  } else {
    spec->run = "x" + RandomText(prng, 60) + (prng->Chance(1, 2) ? "\n" : "");
  }
}

void RandomMachine(Prng* prng, ResourcesSpec* resources) {
  if (prng->Chance(1, 2)) resources->cpus = prng->Between(1, 64'000);
  if (prng->Chance(1, 2)) resources->memory = prng->Between(1, 1LL << 50);
  resources->priority = static_cast<int>(prng->Between(-3, 3));
  if (prng->Chance(1, 3)) return;
  resources->gpus = static_cast<int>(prng->Below(5));
  if (prng->Chance(1, 2)) resources->gpu_numbers = {};
  if (*resources->gpus > 0 && prng->Chance(1, 2)) {
    resources->gpu_name = RandomName(prng);
  } else if (*resources->gpus > 0 && prng->Chance(1, 2)) {
    for (int i = *resources->gpus; i > 0; --i) resources->gpu_numbers.push_back(i);
  }
}

void RandomSlurm(Prng* prng, SlurmSpec* slurm) {
  if (prng->Chance(1, 2)) slurm->account = RandomName(prng);
  if (prng->Chance(1, 2)) slurm->qos = "long";
  if (prng->Chance(1, 2)) slurm->constraint = "(a100|h100)&nvme*2";
  if (prng->Chance(1, 2)) slurm->reservation = "@week";
  slurm->exclusive = prng->Chance(1, 2);
  if (prng->Chance(1, 2)) slurm->time = Duration::Ms(prng->Between(60'000, 1LL << 33));
  if (prng->Chance(1, 2)) slurm->notice = Duration::Ms(prng->Between(10'000, 1LL << 33));
  if (prng->Chance(1, 2)) slurm->options = {"--mail-type=END", "--nice", "--x=a b: #\"'"};
}

void RandomContainer(Prng* prng, ContainerSpec* container) {
  if (prng->Chance(1, 2)) return;
  container->image = "localhost:5000/a/" + std::string(prng->Chance(1, 2) ? "b" : "b_c:1.2-x");
  if (prng->Chance(1, 2)) container->engine = "docker";
  if (prng->Chance(1, 2)) container->shm_size = prng->Between(1, 1LL << 40);
  if (prng->Chance(1, 2)) container->run_options = {"--ipc=shareable", "--privileged", "--x=a:#b"};
  if (prng->Chance(1, 2)) container->cap_add = {"SYS_ADMIN", "ALL"};
  if (prng->Chance(1, 2)) container->devices = {"/dev/fuse", "nvidia.com/gpu=all"};
  if (prng->Chance(1, 2)) container->volumes = {"/é x/#:/b:ro,Z"};
  if (prng->Chance(1, 2)) container->user = prng->Chance(1, 2) ? "0" : "a.b:c_d";
  container->image_entrypoint = prng->Chance(1, 3);
  if (!container->image_entrypoint && prng->Chance(1, 2)) {
    container->entrypoint = {"image", "a b: #\"'"};
  }
  if (prng->Chance(1, 3)) {
    container->dockerfile = "docker/Dockerfile #1";
    container->image = kBuiltImage;
  }
  if (prng->Chance(1, 2)) container->login = {"me: #", "$S1"};
}

void RandomAws(Prng* prng, AwsSpec* aws) {
  if (prng->Chance(1, 2)) aws->placement = "cluster";
  aws->efa = prng->Chance(1, 2);
  aws->metadata_tags = prng->Chance(1, 2);
  if (prng->Chance(1, 2)) aws->capacity_reservation = "cr-" + RandomName(prng);
  for (uint64_t n = prng->Below(3); n > 0; --n)
    aws->subnets.push_back("subnet-" + RandomName(prng));
  for (uint64_t n = prng->Below(3); n > 0; --n) aws->security_groups.push_back("a: #'\"[b] é");
}

void AddHooksAndNotify(JobSpec* spec, Prng* prng) {
  for (const HookName& hook : kHookNames) {
    if (!prng->Chance(1, 2)) continue;
    spec->hooks.*hook.which = {"echo \"ü\" '$X' # " + RandomName(prng) + "\n",
                               Duration::Ms(prng->Between(1000, 600'000))};
  }
  spec->logs.cloud = prng->Chance(1, 2);
  if (spec->logs.cloud && prng->Chance(1, 2))
    spec->logs.days = static_cast<int>(prng->Between(1, 3653));
  if (prng->Chance(1, 2)) {
    spec->secrets.push_back({"SLACK_URL", ""});
    spec->notify = {{"ntfy",
                     "https://ntfy.example/" + RandomName(prng),
                     {"end", "no_machine"},
                     Duration::Minutes(prng->Between(1, 1000))},
                    {"slack", "$SLACK_URL", {"failure"}}};
  }
}

JobSpec RandomSpec(Prng* prng) {
  JobSpec spec;
  spec.name = RandomName(prng);
  if (prng->Chance(1, 2)) spec.workdir = "/w/" + RandomName(prng) + "/é x'" + RandomName(prng);
  for (uint64_t n = prng->Below(3); n > 0; --n) spec.include.push_back("d/" + RandomName(prng));
  std::sort(spec.include.begin(), spec.include.end());
  spec.include.erase(std::unique(spec.include.begin(), spec.include.end()), spec.include.end());
  spec.whole_shell = prng->Chance(1, 2);
  spec.num_nodes = static_cast<int>(prng->Between(1, 1024));
  spec.resources.use_spot = prng->Chance(1, 2);
  for (uint64_t n = prng->Below(3); n > 0; --n) spec.resources.labels[RandomName(prng)] = "v: #";
  RandomMachine(prng, &spec.resources);
  RandomContainer(prng, &spec.container);
  if (!spec.container.image.empty()) spec.whole_shell = false;
  RandomSlurm(prng, &spec.sections.slurm);
  RandomAws(prng, &spec.sections.aws);
  if (prng->Chance(1, 2)) spec.sections.gcp.placement = "cluster";
  if (prng->Chance(1, 2)) {
    spec.resources.infra = "aws/us-east-1";
    if (prng->Chance(1, 2)) spec.resources.instance_type = "g6.xlarge";
    if (prng->Chance(1, 2)) spec.resources.image_id = "ssm:/aws/service/x-y_z/1.0";
    if (prng->Chance(1, 2)) spec.resources.disk_gib = prng->Between(1, 16'384);
  }
  if (prng->Chance(1, 2)) spec.job_recovery.strategy = "FAILOVER";
  spec.job_recovery.max_restarts_on_errors = static_cast<int>(prng->Below(9));
  for (uint64_t n = prng->Below(3); n > 0; --n) {
    spec.job_recovery.recover_on_exit_codes.push_back(static_cast<int>(prng->Below(256)));
  }
  for (uint64_t n = prng->Below(4); n > 0; --n) {
    const std::string place = prng->Chance(1, 2) ? "/d/" : "s3://bucket/";
    spec.inputs.push_back({RandomName(prng) + "-" + std::to_string(n),
                           place + RandomName(prng) + "/é x' #: " + RandomName(prng)});
  }
  RandomProgram(prng, &spec);
  if (!spec.setup.empty() && prng->Chance(1, 2)) {
    spec.setup += "\nmake";
    spec.setup_cache.emplace();
    for (uint64_t n = prng->Below(3); n > 0; --n) {
      spec.setup_cache->push_back(std::to_string(n) + "/" + RandomName(prng) + " ü");
    }
  }
  spec.checkpoints.path_given = prng->Chance(1, 2);
  if (spec.checkpoints.path_given) {
    spec.checkpoints.path = (prng->Chance(1, 2) ? "/c/" : "c/") + RandomName(prng);
  }
  spec.checkpoints.keep = static_cast<int>(prng->Below(9));
  spec.checkpoints.quiet = Duration::Ms(prng->Between(100, 3'600'000));
  if (prng->Chance(1, 2)) spec.checkpoints.signal = "SIGUSR2";
  if (prng->Chance(1, 3)) spec.checkpoints.complete = "done.txt";
  for (uint64_t n = prng->Below(3); n > 0; --n) {
    const std::string end = prng->Chance(1, 3) ? "*.pt" : RandomName(prng) + " ü";
    spec.outputs.push_back({"o" + std::to_string(n) + "/" + end, prng->Chance(1, 2)});
  }
  spec.outputs_given = !spec.outputs.empty() || prng->Chance(1, 2);
  if (prng->Chance(1, 2)) spec.limits.kept_size = prng->Between(0, 1LL << 40);
  if (prng->Chance(1, 2)) spec.limits.kept_files = prng->Between(0, 1'000'000);
  if (prng->Chance(1, 2)) spec.limits.max_duration = Duration::Ms(prng->Between(1, 1LL << 40));
  if (prng->Chance(1, 2)) spec.limits.stall = Duration::Ms(prng->Between(1, 1LL << 40));
  if (prng->Chance(1, 2)) {
    spec.limits.idle_gpu = {static_cast<int>(prng->Between(1, 100)),
                            Duration::Ms(prng->Between(1, 1LL << 40))};
  }
  AddHooksAndNotify(&spec, prng);
  spec.recovery = prng->Chance(1, 2) ? RecoveryMode::kNode : RecoveryMode::kController;
  spec.stop_grace = Duration::Ms(prng->Between(0, 86'400'000));
  if (prng->Chance(1, 2)) spec.keep_failed = Duration::Ms(prng->Between(60'000, 86'400'000));
  if (prng->Chance(1, 2)) spec.ending = "subreaper";
  return spec;
}

TEST(Print, ParsesBackToTheSameSpec) {
  Prng prng(20261);
  for (int i = 0; i < Rounds(3000); ++i) {
    const JobSpec spec = RandomSpec(&prng);
    const std::string text = PrintJobSpec(spec);
    const Result<JobSpec> back = ParseStoredSpec(text);
    ASSERT_TRUE(back.ok()) << i << "\n" << text << "\n" << back.status().message();
    ASSERT_EQ(*back, spec) << i << "\n" << text << "\n" << PrintJobSpec(*back);
    ASSERT_EQ(PrintJobSpec(*back), text) << i;
  }
}

TEST(Print, CanBeReadByPeople) {
  JobSpec spec;
  spec.name = "digits";
  spec.run = "set -e\n\npython train.py \\\n  --x '\"'\n";
  spec.hyperparameters = {{"lr", "1e-3"}};
  EXPECT_EQ(PrintJobSpec(spec),
            "name: \"digits\"\nnum_nodes: 1\nresources:\n  infra: local\n  use_spot: false\n"
            "  job_recovery:\n    max_restarts_on_errors: 0\nhyperparameters:\n  \"lr\": 1e-3\n"
            "run: |\n  set -e\n\n  python train.py \\\n    --x '\"'\n"
            "checkpoints:\n  keep: 3\n  quiet: 2s\nrecovery: node\nstop_grace: 30s\n");
  spec.setup = "make\n";
  spec.setup_cache = std::vector<std::string>{"Makefile"};
  EXPECT_NE(PrintJobSpec(spec).find("setup:\n  run: |\n    make\n  cache: [\"Makefile\"]\n"),
            std::string::npos);
}

TEST(Print, ScalarsAsJson) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"3", "3"},
      {"+3", "3"},
      {"-0", "0"},
      {"0x1F", "31"},
      {"0o17", "15"},
      {".5", "0.5"},
      {"5.", "5.0"},
      {"1E+5", "1e5"},
      {"-1.50", "-1.50"},
      {"1e-3", "1e-3"},
      {"True", "true"},
      {"FALSE", "false"},
      {"~", "null"},
      {"yes", "\"yes\""},
      {"1_000", "\"1_000\""},
      {"2024-01-01", "\"2024-01-01\""},
      {"1.2.3", "\"1.2.3\""},
      {"-", "\"-\""},
      {".", "\".\""},
      {"e5", "\"e5\""},
      {"nan", "\"nan\""},
      {"0", "0"},
      {"0.0", "0.0"},
      {"1e", "\"1e\""},
      {"123456789012345678901234567890", "123456789012345678901234567890"}};
  for (const auto& [text, json] : cases) {
    const auto got = PlainScalarToJson(text);
    ASSERT_TRUE(got.ok()) << text;
    EXPECT_EQ(*got, json) << text;
    if (json[0] == '"') continue;
    EXPECT_EQ(*PlainScalarToJson(json), json) << text;
  }
  for (const char* text : {".nan", ".inf", "-.Inf", "1e999", "-1e999", "010", "00.5", "-007",
                           "0xffffffffffffffffff"}) {
    EXPECT_FALSE(PlainScalarToJson(text).ok()) << text;
  }
}

// Whatever comes in: no crash, no exception, an answer in time; and what is accepted can be stored.
void Feed(const std::string& text, int* accepted) {
  ParseOptions options;
  options.base_dir = "/w";
  const ParsedSpec parsed = ParseJobSpecAll(text, options);
  for (const SpecError& error : parsed.errors) {
    ASSERT_FALSE(error.message.empty());
    ASSERT_GE(error.line, 1);
    ASSERT_GE(error.column, 1);
    ASSERT_EQ(error.ToString().find_first_of("\n\x1b\r"), std::string::npos);
  }
  (void)ParseSettings(text, "config.yaml", "/h");
  if (!parsed.errors.empty()) return;
  ++*accepted;
  const Result<JobSpec> back = ParseStoredSpec(PrintJobSpec(parsed.spec));
  ASSERT_TRUE(back.ok()) << text;
  ASSERT_EQ(*back, parsed.spec) << text;
}

TEST(Fuzz, RandomBytes) {
  Prng prng(1);
  int accepted = 0;
  for (int i = 0; i < Rounds(4000); ++i) {
    std::string text;
    for (uint64_t n = prng.Below(200); n > 0; --n) text += static_cast<char>(prng.Below(256));
    Feed(text, &accepted);
    if (HasFatalFailure()) return;
  }
}

TEST(Fuzz, RandomYamlPieces) {
  Prng prng(2);
  int accepted = 0;
  for (int i = 0; i < Rounds(4000); ++i) {
    Feed("run: x\n" + RandomText(&prng, 40), &accepted);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(accepted, 0);
}

TEST(Fuzz, MutatedJobFiles) {
  Prng prng(3);
  int accepted = 0;
  for (int i = 0; i < Rounds(6000); ++i) {
    std::string text = PrintJobSpec(RandomSpec(&prng));
    for (uint64_t n = 1 + prng.Below(4); n > 0 && !text.empty(); --n) {
      const size_t at = prng.Below(text.size());
      const std::string piece = RandomText(&prng, 3);
      switch (prng.Below(4)) {
        case 0:
          text.insert(at, piece);
          break;
        case 1:
          text.erase(at, prng.Below(10));
          break;
        case 2:
          text[at] = static_cast<char>(prng.Below(256));
          break;
        default:
          text.insert(at, text.substr(prng.Below(text.size()), prng.Below(40)));
          break;
      }
    }
    Feed(text, &accepted);
    if (HasFatalFailure()) return;
  }
  // Most mutants are wrong, some are not: otherwise the loop proves nothing.
  EXPECT_GT(accepted, Rounds(6000) / 100);
  EXPECT_LT(accepted, 5000);
}

TEST(Repository, IsKeptInTheStoredJobFile) {
  ParseOptions options;
  options.file_name = "job.yaml";
  options.base_dir = "/work";
  const auto spec =
      ParseJobSpec("name: a\nworkdir: {url: git@host:a/b.git, ref: v1}\nrun: x\n", options);
  ASSERT_TRUE(spec.ok()) << spec.status().ToString();
  EXPECT_EQ(spec->workdir, "git@host:a/b.git#v1");
  const std::string text = PrintJobSpec(*spec);
  EXPECT_NE(text.find("workdir: {url: \"git@host:a/b.git\", ref: \"v1\"}\n"), text.npos) << text;
  const auto stored = ParseStoredSpec(text);
  ASSERT_TRUE(stored.ok()) << stored.status().ToString();
  EXPECT_EQ(*stored, *spec);
}

}  // namespace
}  // namespace stoker

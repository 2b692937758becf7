// SPDX-License-Identifier: Apache-2.0
// What Slurm is asked in words, and what its words mean.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/text.h"
#include "provider/slurm/slurm_ask.h"
#include "provider/slurm/slurm_job.h"
#include "provider/slurm/slurm_platform.h"
#include "provider/slurm/slurm_refusal.h"
#include "provider/slurm/slurm_shell.h"

namespace stoker {
namespace {

LaunchRequest Sample() {
  LaunchRequest request;
  request.token = "0123abcd";
  request.ledger_id = "ledger";
  request.job = "job1";
  request.job_name = "train.v2";
  request.store_url = "/store";
  request.ask.place = {"slurm", "", "gpu", ""};
  request.launches = {3, 4};
  request.slots = {0, 1};
  request.binary_digest = "d1";
  request.limit = Duration::Hours(24);
  return request;
}

SlurmAsk FullAsk() {
  SlurmAsk ask;
  ask.state = "/home/me/state";
  ask.path = "/usr/bin:/it's";
  ask.account = "vision";
  ask.qos = "long";
  ask.constraint = "a100|h100";
  ask.reservation = "r";
  ask.exclusive = true;
  ask.time = Duration::Seconds(90);
  ask.notice = Duration::Minutes(5);
  ask.cpus = 8;
  ask.memory = int64_t{16} << 30;
  ask.gpus = 4;
  ask.gpu_name = "a100";
  ask.options = {"--mail-type=END"};
  return ask;
}

bool Has(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

TEST(SlurmAsk, IsReadAsItWasWritten) {
  EXPECT_EQ(*ParseSlurmAsk(EncodeSlurmAsk(FullAsk())), FullAsk());
  EXPECT_EQ(EncodeSlurmAsk(SlurmAsk()), "");
  EXPECT_EQ(*ParseSlurmAsk(""), SlurmAsk());
}

TEST(SlurmAsk, TakesNothingUnsafe) {
  for (const char* wrong :
       {"x", "[]", R"({"account":"a b"})", R"({"account":"-x"})", R"({"state":"relative"})",
        R"({"state":"/a/../b"})", R"({"state":"/a%j"})", R"({"cpus":0})", R"({"cpus":"1"})",
        R"({"options":["--wrap=x"]})", R"({"options":["x"]})", R"({"unknown":1})",
        R"({"path":"a\nb"})"}) {
    EXPECT_EQ(ParseSlurmAsk(wrong).code(), Code::kInvalid) << wrong;
  }
}

TEST(SlurmJob, NameTellsJobAndToken) {
  const std::string name = SlurmJobName(Sample());
  EXPECT_EQ(name, "train.v2:job1.0123abcd") << "squeue's own format shows the first eight";
  // Jobs that a stoker of before has submitted are still there after an update.
  for (const std::string& each : {name, std::string("stoker-job1.0123abcd")}) {
    EXPECT_EQ(TokenOfSlurmName(each), "0123abcd");
    EXPECT_EQ(JobOfSlurmName(each), "job1");
  }
  LaunchRequest unnamed = Sample();
  unnamed.job_name.clear();
  EXPECT_EQ(SlurmJobName(unnamed), "stoker-job1.0123abcd");
  for (const char* other : {"", "stoker", "stoker-x", "bash", "x.0123", "stoker-a.b c", "a:b",
                            "a:.0123", "a:b/c.0123", "a.b:c", ":", "."}) {
    EXPECT_EQ(TokenOfSlurmName(other), "") << other;
  }
  const auto read = ParseSlurmComment(SlurmComment(Sample()));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->token, "0123abcd");
  EXPECT_EQ(read->ledger_id, "ledger");
  EXPECT_EQ(read->launches, (std::vector<int>{3, 4}));
  EXPECT_FALSE(ParseSlurmComment("train"));
  EXPECT_FALSE(ParseSlurmComment(R"({"stoker":1,"token":"a b","launches":[1]})"));
}

TEST(SlurmJob, AsksForAllThatTheRequestSays) {
  const auto words = SbatchWords(Sample(), FullAsk(), {"/f", "/b/stoker"});
  ASSERT_TRUE(words.ok());
  for (const char* word :
       {"--nodes=2", "--partition=gpu", "--account=vision", "--qos=long", "--constraint=a100|h100",
        "--reservation=r", "--exclusive", "--time=2", "--cpus-per-task=8", "--mem=16384M",
        "--gres=gpu:a100:4", "--mail-type=END", "--no-requeue", "--dependency=singleton",
        "--job-name=train.v2:job1.0123abcd", "--output=/f/slurm-%j.log"}) {
    EXPECT_TRUE(Has(*words, word)) << word;
  }
  LaunchRequest other = Sample();
  other.ask.place.region = "a b";
  EXPECT_EQ(SbatchWords(other, SlurmAsk(), {"/f", "/b"}).code(), Code::kInvalid);
}

TEST(SlurmJob, ScriptQuotesWhatItIsGiven) {
  LaunchRequest request = Sample();
  request.store_url = "s3://b/it's $(id)";
  const std::string script = BatchScript(request, FullAsk(), {"/a 'b' $(id)", "/b/stoker"});
  EXPECT_NE(script.find("folder=" + ShellQuote("/a 'b' $(id)")), std::string::npos);
  EXPECT_NE(script.find("PATH=" + ShellQuote("/usr/bin:/it's")), std::string::npos);
  EXPECT_NE(script.find("--cpus-per-task=8 "), std::string::npos);
  EXPECT_NE(script.find(ShellQuote(EncodeSlurmRequest(request))), std::string::npos);
}

TEST(SlurmJob, RequestIsReadAsItWasWritten) {
  const auto back = ParseSlurmRequest(EncodeSlurmRequest(Sample()));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(EncodeSlurmRequest(*back), EncodeSlurmRequest(Sample()));
  EXPECT_EQ(back->ask.place.region, "gpu");
  for (const char* wrong : {"", "{}", "[]", "{\"format\":2}"}) {
    EXPECT_EQ(ParseSlurmRequest(wrong).code(), Code::kCorrupt) << wrong;
  }
}

struct Said {
  const char* text;
  RefusalClass what;
  RefusalScope scope;
};

// As sbatch 22.05 printed it in the lab, but for those that need accounting.
TEST(SlurmRefusal, ClassesAreTold) {
  using Class = RefusalClass;
  using Scope = RefusalScope;
  constexpr char kFailed[] = "sbatch: error: Batch job submission failed: ";
  const Said cases[] = {
      {"Invalid partition name specified", Class::kInvalid, Scope::kRegion},
      {"Invalid feature specification", Class::kInvalid, Scope::kRequest},
      {"Invalid generic resource (gres) specification", Class::kInvalid, Scope::kRequest},
      {"Requested node configuration is not available", Class::kInvalid, Scope::kRequest},
      {"Requested reservation is invalid", Class::kInvalid, Scope::kRequest},
      {"Requested time limit is invalid (missing or exceeds some limit)", Class::kInvalid,
       Scope::kRequest},
      {"Invalid account or account/partition combination specified", Class::kInvalid,
       Scope::kRegion},
      {"Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)",
       Class::kQuota, Scope::kRegion},
      {"User's group not permitted to use this partition", Class::kDenied, Scope::kRegion},
      {"Access/permission denied", Class::kDenied, Scope::kAccount},
      {"Required partition not available (inactive or drain)", Class::kCapacity, Scope::kZone},
      {"Resource temporarily unavailable", Class::kThrottled, Scope::kAccount},
  };
  for (const Said& each : cases) {
    const LaunchAnswer answer = SlurmRefusal(kFailed + std::string(each.text) + "\n");
    ASSERT_TRUE(answer.refusal()) << each.text;
    EXPECT_EQ(answer.refusal()->what, each.what) << each.text;
    EXPECT_EQ(answer.refusal()->scope, each.scope) << each.text;
    EXPECT_EQ(answer.refusal()->message, "Slurm: " + std::string(each.text));
  }
}

TEST(SlurmRefusal, NoAnswerIsNone) {
  const auto code = [](const std::string& said) {
    const LaunchAnswer answer = SlurmRefusal(said);
    EXPECT_FALSE(answer.refusal()) << said;
    return answer.status().code();
  };
  EXPECT_EQ(code("sbatch: error: Batch job submission failed: Unable to contact slurm controller "
                 "(connect failure)\n"),
            Code::kUnavailable);
  EXPECT_EQ(code("sbatch: error: Batch job submission failed: Socket timed out on send/recv "
                 "operation\n"),
            Code::kTimeout);
  EXPECT_EQ(code("sbatch: error: what nobody has heard before\n"), Code::kUnavailable);
  EXPECT_EQ(code(""), Code::kUnavailable);
}

TEST(SlurmLead, IsAtMostAQuarter) {
  EXPECT_EQ(SlurmLead(Duration::Hours(24), {}).ms, Duration::Minutes(2).ms);
  EXPECT_EQ(SlurmLead(Duration::Minutes(2), {}).ms, Duration::Seconds(30).ms);
  EXPECT_EQ(SlurmLead(Duration::Hours(24), Duration::Minutes(20)).ms, Duration::Minutes(20).ms);
}

TEST(SlurmWords, GpusOfAStepWhereSlurmSetsTheVariablesOfAllMakes) {
  EXPECT_EQ(SlurmGpus("1", "1", false), "cuda:1");
  EXPECT_EQ(SlurmGpus("1", "1", true), "rocm:1");
  EXPECT_EQ(SlurmGpus("", "0,2", false), "rocm:0,2");
  EXPECT_EQ(SlurmGpus("0,2", "", false), "cuda:0,2");
  EXPECT_EQ(SlurmGpus("NoDevFiles", "", false), "");
  EXPECT_EQ(SlurmGpuDevices("2,3", "0,1", true), "2,3");
  EXPECT_EQ(SlurmGpuDevices("", "1", true), "1");
  EXPECT_EQ(SlurmGpuDevices("", "1", false), "") << "of another node";
  EXPECT_EQ(SlurmGpuDevices("MIG-1", "1", true), "");
}

TEST(SlurmShell, IsAStepBesideTheJobsOwn) {
  const auto words = SlurmShellWords({"", "/s", "5.1.0123abcd", "echo hi", false});
  ASSERT_TRUE(words.ok()) << words.status().ToString();
  EXPECT_EQ((*words)[0], "srun");
  EXPECT_EQ((*words)[1], "--jobid=5");
  EXPECT_EQ((std::vector<std::string>{words->end() - 3, words->end()}),
            (std::vector<std::string>{"0123abcd*-1", "/s", "echo hi"}));
  const auto there = SlurmShellWords({"login1", "/s", "5.0.01", "", true});
  EXPECT_EQ((*there)[0], "ssh");
  EXPECT_EQ((*there)[1], "-t");
  EXPECT_NE(there->back().find("'--pty'"), std::string::npos);
  for (const char* none : {"", "5", "5.0", "a.0.b", "5.x.b", "5.0.$(id)", "5.0.b.c"}) {
    EXPECT_FALSE(SlurmShellWords({"", "/s", none, "", false}).ok()) << none;
  }
}

}  // namespace
}  // namespace stoker

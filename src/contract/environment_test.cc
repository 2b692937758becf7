// SPDX-License-Identifier: Apache-2.0
#include "contract/environment.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace stoker::contract {
namespace {

ProgramInput Facts() {
  ProgramInput facts;
  facts.job_id = "abcd-digits";
  facts.job_name = "digits";
  facts.user = "ada";
  facts.attempt = 3;
  facts.rank = 1;
  facts.addresses = {"127.0.0.2", "127.0.0.3"};
  facts.host_names = {"abcd-digits-0", "abcd-digits-1"};
  facts.master_port = 29'517;
  facts.num_nodes = 2;
  facts.checkpoint_dir = "/work/code/checkpoints";
  facts.output_dir = "/work/code/output";
  facts.model_dir = "/work/code/model";
  facts.git = GitOrigin{"1a2b3c", "main", true};
  facts.home = "/home/ada";
  facts.path = "/opt/bin:/usr/bin";
  return facts;
}

std::map<std::string, std::string> AsMap(const Environment& env) {
  std::map<std::string, std::string> map;
  for (const auto& [name, value] : env) {
    EXPECT_TRUE(map.emplace(name, value).second) << name << " is set twice";
    EXPECT_EQ(name.find('='), std::string::npos);
    EXPECT_EQ(value.find('\0'), std::string::npos) << name;
  }
  return map;
}

TEST(Environment, NamesThatScriptsUse) {
  auto env = AsMap(ProgramEnvironment({}, Facts()));
  const std::map<std::string, std::string> expected = {
      {"STOKER_JOB_ID", "abcd-digits"},
      {"STOKER_JOB_NAME", "digits"},
      {"STOKER_ATTEMPT", "3"},
      {"STOKER_NODE_RANK", "1"},
      {"STOKER_NUM_NODES", "2"},
      {"STOKER_NODE_IPS", "127.0.0.2\n127.0.0.3"},
      {"STOKER_CHECKPOINT_DIR", "/work/code/checkpoints"},
      {"STOKER_OUTPUT_DIR", "/work/code/output"},
      {"STOKER_MODEL_DIR", "/work/code/model"},
      {"STOKER_RESUME", "0"},
      {"STOKER_GIT_COMMIT", "1a2b3c"},
      {"STOKER_GIT_BRANCH", "main"},
      {"STOKER_GIT_DIRTY", "1"},
      {"STOKER_HPS", "{}"},
      {"STOKER_CHANNELS", "[]"},
      {"MASTER_ADDR", "127.0.0.2"},
      {"MASTER_PORT", "29517"},
      {"NODE_RANK", "1"},
      {"NNODES", "2"},
      {"NODES", "abcd-digits-0 abcd-digits-1"},
      {"NUM_NODES", "2"},
      {"PET_NNODES", "2"},
      {"PET_NPROC_PER_NODE", "1"},
      {"PET_NODE_RANK", "1"},
      {"PET_MASTER_ADDR", "127.0.0.2"},
      {"PET_MASTER_PORT", "29517"},
      {"SKYPILOT_NODE_RANK", "1"},
      {"SKYPILOT_NODE_IPS", "127.0.0.2\n127.0.0.3"},
      {"SKYPILOT_NUM_NODES", "2"},
      {"SKYPILOT_NUM_GPUS_PER_NODE", "0"},
      {"PATH", "/opt/bin:/usr/bin"},
      {"HOME", "/home/ada"},
      {"USER", "ada"},
      {"PYTHONUNBUFFERED", "1"},
  };
  for (const auto& [name, value] : expected) EXPECT_EQ(env[name], value) << name;
}

TEST(Environment, HostNamesAreLabels) {
  EXPECT_EQ(NodeHostName("k3f7-digits", 0), "k3f7-digits-0");
  EXPECT_EQ(NodeHostName("k3f7-My_run.v2", 11), "k3f7-my-run-v2-11");
  const std::string longest = NodeHostName("k3f7-" + std::string(64, 'x'), 1023);
  EXPECT_EQ(longest.size(), 63U);
  EXPECT_EQ(longest.substr(58), "-1023");
}

TEST(Environment, WhoWins) {
  ProgramInput facts = Facts();
  facts.gpus = 8;
  facts.shell = {{"OMP_NUM_THREADS", "1"}, {"CUDA_VISIBLE_DEVICES", "2,3"}, {"A", "shell"}};
  facts.from_setup = {{"B", "setup"}, {"PATH", "/setup/bin"}};
  facts.secrets = {{"HF_TOKEN", "s"}};
  JobSpec spec;
  spec.envs = {{"A", "file"}, {"B", "file"}};
  auto env = AsMap(ProgramEnvironment(spec, facts));
  EXPECT_EQ(env["OMP_NUM_THREADS"], "1");
  EXPECT_EQ(env["A"], "file");
  EXPECT_EQ(env["B"], "setup");
  EXPECT_EQ(env["PATH"], "/setup/bin");
  EXPECT_EQ(env["HF_TOKEN"], "s");
  EXPECT_EQ(env["PET_NPROC_PER_NODE"], "2");
  EXPECT_EQ(env["SKYPILOT_NUM_GPUS_PER_NODE"], "2");
  spec.envs = {{"CUDA_VISIBLE_DEVICES", "0,-1,3"}};
  EXPECT_EQ(AsMap(ProgramEnvironment(spec, facts))["PET_NPROC_PER_NODE"], "1");
  spec.envs = {{"CUDA_VISIBLE_DEVICES", ""}};
  EXPECT_EQ(AsMap(SetupEnvironment(spec, facts))["SKYPILOT_SETUP_NUM_GPUS_PER_NODE"], "0");
}

TEST(Environment, GrantedGpusAreThose) {
  ProgramInput facts = Facts();
  facts.gpus = 1;
  facts.shell = {{"CUDA_VISIBLE_DEVICES", "0,1,2,3"}};
  facts.granted = {{"CUDA_VISIBLE_DEVICES", "2"}};
  JobSpec spec;
  spec.envs = {{"CUDA_VISIBLE_DEVICES", "0,1"}};
  auto env = AsMap(ProgramEnvironment(spec, facts));
  EXPECT_EQ(env["CUDA_VISIBLE_DEVICES"], "2");
  EXPECT_EQ(env["PET_NPROC_PER_NODE"], "1");
  facts.gpus = 0;
  facts.granted = {{"CUDA_VISIBLE_DEVICES", ""}};
  env = AsMap(SetupEnvironment(spec, facts));
  EXPECT_EQ(env["CUDA_VISIBLE_DEVICES"], "");
  EXPECT_EQ(env["SKYPILOT_SETUP_NUM_GPUS_PER_NODE"], "0");
}

TEST(Environment, Channels) {
  JobSpec spec;
  spec.inputs = {{"val-1", "s3://bucket/val"}, {"training", "/data"}};
  ProgramInput facts = Facts();
  facts.inputs_dir = "/launch/inputs";
  for (const Environment& one : {ProgramEnvironment(spec, facts), SetupEnvironment(spec, facts)}) {
    auto env = AsMap(one);
    EXPECT_EQ(env["STOKER_CHANNELS"], R"(["training","val-1"])") << "sorted";
    EXPECT_EQ(env["STOKER_CHANNEL_TRAINING"], "/launch/inputs/training");
    EXPECT_EQ(env["STOKER_CHANNEL_VAL_1"], "/launch/inputs/val-1");
  }
}

// With these at node level, Lightning and accelerate believe to be inside torchrun.
TEST(Environment, LeavesTheRanksToTorchrun) {
  auto env = AsMap(ProgramEnvironment({}, Facts()));
  for (const char* name : {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK",
                           "SM_TRAINING_ENV", "AIP_MODEL_DIR", "TF_CONFIG", "CLUSTER_SPEC"}) {
    EXPECT_EQ(env.count(name), 0u) << name;
  }
}

TEST(Environment, TheTaskIdIsTheSameOverAllRecoveries) {
  ProgramInput first = Facts();
  ProgramInput later = Facts();
  later.attempt = 9;
  later.resume = true;
  auto a = AsMap(ProgramEnvironment({}, first));
  auto b = AsMap(ProgramEnvironment({}, later));
  EXPECT_EQ(a["SKYPILOT_TASK_ID"], b["SKYPILOT_TASK_ID"]);
  EXPECT_NE(a["SKYPILOT_TASK_ID"], "");
  EXPECT_EQ(b["STOKER_RESUME"], "1");
}

TEST(Environment, HyperparametersAsJsonAndAsWords) {
  JobSpec spec;
  spec.hyperparameters = {{"epochs", "20"},         {"lr", "0.1"},   {"opt", "\"ad\\\"am\""},
                          {"layers", "[64,32]"},    {"amp", "true"}, {"z-first", "null"},
                          {"name", "\"caf\u00e9\""}};
  auto env = AsMap(ProgramEnvironment(spec, Facts()));
  EXPECT_EQ(env["STOKER_HPS"],
            "{\"epochs\":20,\"lr\":0.1,\"opt\":\"ad\\\"am\",\"layers\":[64,32],\"amp\":true,"
            "\"z-first\":null,\"name\":\"caf\u00e9\"}");
  EXPECT_EQ(env["STOKER_HP_epochs"], "20");
  EXPECT_EQ(env["STOKER_HP_opt"], "ad\"am");
  EXPECT_EQ(env["STOKER_HP_layers"], "[64,32]");
  EXPECT_EQ(env["STOKER_HP_z-first"], "null");
}

TEST(Environment, TheUsersOwnWin) {
  JobSpec spec;
  spec.envs = {{"PYTHONUNBUFFERED", "0"}, {"MASTER_PORT", "1"}, {"MINE", "a\nb"}, {"MINE", "c"}};
  auto env = AsMap(ProgramEnvironment(spec, Facts()));
  EXPECT_EQ(env["PYTHONUNBUFFERED"], "0");
  EXPECT_EQ(env["MASTER_PORT"], "1");
  EXPECT_EQ(env["MINE"], "c");
}

TEST(Environment, SetupHasNoRendezvous) {
  ProgramInput facts = Facts();
  facts.master_port = 0;
  facts.gpus = 4;
  JobSpec spec;
  spec.envs = {{"MINE", "x"}};
  auto env = AsMap(SetupEnvironment(spec, facts));
  EXPECT_EQ(env["SKYPILOT_SETUP_NODE_RANK"], "1");
  EXPECT_EQ(env["SKYPILOT_SETUP_NODE_IPS"], "127.0.0.2\n127.0.0.3");
  EXPECT_EQ(env["SKYPILOT_SETUP_NUM_GPUS_PER_NODE"], "4");
  EXPECT_EQ(env["MINE"], "x");
  EXPECT_NE(env["SKYPILOT_TASK_ID"], "");
  for (const char* name : {"MASTER_ADDR", "MASTER_PORT", "PET_NNODES", "SKYPILOT_NODE_RANK"}) {
    EXPECT_EQ(env.count(name), 0u) << name;
  }
}

TEST(Environment, GpusSetTheProcessesOfANode) {
  ProgramInput facts = Facts();
  facts.gpus = 8;
  auto env = AsMap(ProgramEnvironment({}, facts));
  EXPECT_EQ(env["PET_NPROC_PER_NODE"], "8");
  EXPECT_EQ(env["SKYPILOT_NUM_GPUS_PER_NODE"], "8");
}

TEST(Environment, KnownNothingStillGivesABaseToRunOn) {
  auto env = AsMap(ProgramEnvironment({}, {}));
  EXPECT_NE(env["PATH"], "");
  EXPECT_NE(env["HOME"], "");
  EXPECT_EQ(env["MASTER_ADDR"], "127.0.0.1");
}

TEST(Environment, OneRunOfWandbWhereTheJobAsksForIt) {
  ProgramInput facts = Facts();
  facts.rank = 0;
  JobSpec spec;
  EXPECT_EQ(AsMap(ProgramEnvironment(spec, facts)).count("WANDB_RUN_ID"), 0u);
  spec.wandb_one_run = true;
  EXPECT_EQ(AsMap(ProgramEnvironment(spec, facts))["WANDB_RUN_ID"], "abcd-digits");
  EXPECT_EQ(AsMap(ProgramEnvironment(spec, facts))["WANDB_RESUME"], "allow");
  spec.envs = {{"WANDB_RUN_ID", "mine"}};
  EXPECT_EQ(AsMap(ProgramEnvironment(spec, facts))["WANDB_RUN_ID"], "mine");
  facts.rank = 1;
  spec.envs.clear();
  EXPECT_EQ(AsMap(ProgramEnvironment(spec, facts)).count("WANDB_RESUME"), 0u);
}

}  // namespace
}  // namespace stoker::contract

// SPDX-License-Identifier: Apache-2.0
// Job files that were written for other machines or for SkyPilot, run on this one.
#include <gtest/gtest.h>

#include "spec/parse.h"
#include "spec/print.h"
#include "test/kit/places.h"

namespace stoker {
namespace {

ParseOptions Here() {
  ParseOptions options;
  options.base_dir = "/files";
  options.overrides.infra = "Local";
  return options;
}

std::string Message(const ParsedSpec& parsed) {
  std::string out;
  for (const SpecError& error : parsed.errors) out += error.ToString() + "\n";
  return out;
}

constexpr const char* kElsewhere = R"(resources:
  infra: oci/us-east1
  accelerators: {L4:1, A100:8}
  any_of:
    - {cloud: gcp}
    - {region: eu-west-4}
  image_id: docker:pytorch/pytorch
  ports: 8080-8090
  disk_tier: BEST
  autostop: {idle_minutes: 5}
  use_spot: true
  labels: {team: vision}
  job_recovery: eager_next_region
config: {kubernetes: {pod_config: {}}, stoker: {ending: CGroup}}
run: x
)";

TEST(OnStop, IsReplaceUnlessSaid) {
  const auto parsed = ParseJobSpecAll("on_stop: restart\nrun: x", ParseOptions());
  EXPECT_TRUE(parsed.errors.empty());
  EXPECT_EQ(parsed.spec.on_stop, OnStop::kRestart);
  EXPECT_EQ(ParseStoredSpec(PrintJobSpec(parsed.spec))->on_stop, OnStop::kRestart);
  const auto plain = ParseJobSpecAll("on_stop: replace\nrun: x", ParseOptions());
  EXPECT_EQ(plain.spec.on_stop, OnStop::kReplace);
}

TEST(OtherMachines, AreIgnoredWhereTheCommandLineSaysHere) {
  const ParsedSpec parsed = ParseJobSpecAll(kElsewhere, Here());
  EXPECT_EQ(Message(parsed), "");
  ASSERT_EQ(parsed.notes.size(), 1u);
  EXPECT_EQ(parsed.notes[0],
            "--infra local: the job runs on this machine as it is; ignored: resources.infra, "
            "resources.accelerators, resources.any_of, resources.ports, "
            "resources.disk_tier, resources.autostop, config.kubernetes");
  // But for what the program runs in.
  EXPECT_EQ(parsed.spec.container.image, "pytorch/pytorch");
  EXPECT_EQ(parsed.spec.resources.infra, "local");
  EXPECT_TRUE(parsed.spec.resources.use_spot);
  EXPECT_EQ(parsed.spec.resources.labels.at("team"), "vision");
  EXPECT_EQ(parsed.spec.job_recovery.strategy, "EAGER_NEXT_REGION");
  EXPECT_EQ(parsed.spec.ending, "cgroup");
}

TEST(OtherMachines, AreRefusedByNameWhereNobodySaysHere) {
  ParseOptions options = Here();
  options.overrides.infra.reset();
  const std::string message = Message(ParseJobSpecAll(kElsewhere, options));
  for (const char* said :
       {":2:10: 'resources.infra: oci/us-east1'", "more than one list of choices",
        ":6:8: 'resources.any_of.region'", "--infra local ignores it"}) {
    EXPECT_NE(message.find(said), std::string::npos) << said << " is not in\n" << message;
  }
}

TEST(OtherMachines, WhatThisMachineMayHaveIsAskedFor) {
  const ParsedSpec parsed = ParseJobSpecAll(
      "resources: {infra: oci, cpus: 1.5+, memory: 4+, accelerators: L4:2, priority: x}\nrun: x",
      Here());
  EXPECT_EQ(Message(parsed), "");
  EXPECT_EQ(parsed.spec.resources.cpus, 1500);
  EXPECT_EQ(parsed.spec.resources.memory, int64_t{4} << 30);
  EXPECT_EQ(parsed.spec.resources.gpus, 2);
  EXPECT_EQ(parsed.spec.resources.gpu_name, "L4");
  EXPECT_NE(parsed.notes[0].find("ignored: resources.infra, resources.priority"),
            std::string::npos);
}

TEST(OtherMachines, NothingIsSaidWhereNothingIsIgnored) {
  for (const char* text : {"run: x", "resources: {infra: LOCAL}\nrun: x", "resources:\nrun: x",
                           "resources: {cloud: local}\nrun: x"}) {
    const ParsedSpec parsed = ParseJobSpecAll(text, Here());
    EXPECT_EQ(Message(parsed), "") << text;
    EXPECT_TRUE(parsed.notes.empty()) << text << ": " << parsed.notes[0];
  }
}

TEST(OtherMachines, WhatConcernsTheProgramIsStillRefused) {
  for (const char* text :
       {"resources: {volumes: []}\nrun: x", "resources: {acelerators: L4}\nrun: x",
        "config: {hooks: []}\nrun: x", "file_mounts: {/a: b}\nrun: x", "service: {}\nrun: x",
        "event_callback: x\nrun: x", "config: {jobs: {}}\nrun: x", "resources: 3\nrun: x"}) {
    EXPECT_NE(Message(ParseJobSpecAll(text, Here())), "") << text;
  }
}

TEST(OtherMachines, KeysAloneInAFlowMapHaveNoValue) {
  const ParsedSpec parsed =
      ParseJobSpecAll("hyperparameters: {lr, 'q:1' ,\n last}\nrun: x", Here());
  EXPECT_EQ(Message(parsed), "");
  ASSERT_EQ(parsed.spec.hyperparameters.size(), 3u);
  EXPECT_EQ(parsed.spec.hyperparameters[1], (std::pair<std::string, std::string>("q:1", "null")));
  for (const char* lost : {"hyperparameters: {lr:1}", "hyperparameters: {opt: {a: 1, lr:1}}"}) {
    const std::string message = Message(ParseJobSpecAll(lost + std::string("\nrun: x"), Here()));
    EXPECT_NE(message.find("'lr:1' is one word to YAML"), std::string::npos) << message;
    EXPECT_NE(message.find("'lr: 1'"), std::string::npos) << message;
  }
  EXPECT_NE(Message(ParseJobSpecAll("limits: {stall:1m}\nrun: x", Here())), "");
  EXPECT_NE(Message(ParseJobSpecAll("limits: {stall: 1m, b\nrun: x", Here())), "");
}

TEST(OtherMachines, EnumerationsInAnyCase) {
  const ParsedSpec parsed = ParseJobSpecAll(
      "recovery: Controller\ncontract: TorchRun\ncheckpoints: {signal: sigusr1, every: AUTO}\n"
      "run: x",
      Here());
  EXPECT_EQ(Message(parsed), "");
  EXPECT_EQ(parsed.spec.recovery, RecoveryMode::kController);
  EXPECT_EQ(parsed.spec.checkpoints.signal, "SIGUSR1");
}

TEST(OtherMachines, AWorkDirectoryIsTheFilesAndTheOtherOneIsNamed) {
  ParseOptions options = Here();
  options.standing = "/stands";
  std::string there = "/files/code /stands/code";
  options.is_directory = [&](const std::string& path) {
    return (there + " ").find(path + " ") != std::string::npos;
  };
  const ParsedSpec both = ParseJobSpecAll("workdir: code\nrun: x", options);
  EXPECT_EQ(both.spec.workdir, "/files/code");
  ASSERT_EQ(both.notes.size(), 1u);
  EXPECT_NE(both.notes[0].find("SkyPilot would take /stands/code"), std::string::npos);
  EXPECT_TRUE(ParseJobSpecAll("workdir: /files/code\nrun: x", options).notes.empty());
  there = "/stands/code";
  EXPECT_NE(Message(ParseJobSpecAll("workdir: code\nrun: x", options)).find("--workdir 'code'"),
            std::string::npos);
  there = "/files/code";
  EXPECT_TRUE(ParseJobSpecAll("workdir: code\nrun: x", options).notes.empty());
  options.standing = "/files";
  EXPECT_TRUE(ParseJobSpecAll("workdir: code\nrun: x", options).notes.empty());
}

// ---- machines that a cloud makes ----

ParseOptions AtHome(const std::string& infra = "") {
  ParseOptions options;
  options.base_dir = "/w";
  options.home = "/home/u";
  if (!infra.empty()) options.overrides.infra = infra;
  return options;
}

std::string Wrong(const std::string& resources, const ParseOptions& options = AtHome()) {
  const ParsedSpec parsed = ParseJobSpecAll("resources: {" + resources + "}\nrun: x", options);
  return parsed.errors.empty() ? "" : ErrorsToStatus(parsed.errors).ToString();
}

TEST(CloudMachine, IsRead) {
  const ParsedSpec parsed = ParseJobSpecAll(
      "resources: {infra: AWS/us-east-1/us-east-1a, instance_type: g6.xlarge, disk_size: 200+, "
      "image_id: 'ssm:/aws/service/deeplearning/ami/latest/ami-id', use_spot: true}\nrun: x",
      AtHome());
  ASSERT_TRUE(parsed.errors.empty()) << ErrorsToStatus(parsed.errors).ToString();
  const ResourcesSpec& resources = parsed.spec.resources;
  EXPECT_EQ(resources.infra, "aws/us-east-1/us-east-1a");
  EXPECT_EQ(resources.instance_type, "g6.xlarge");
  EXPECT_EQ(resources.disk_gib, 200);
  EXPECT_EQ(resources.image_id, "ssm:/aws/service/deeplearning/ami/latest/ami-id");
}

TEST(CloudMachine, TheFlagSaysWhere) {
  EXPECT_EQ(Wrong("infra: local, instance_type: m5.large", AtHome("aws/us-east-1")), "");
  EXPECT_EQ(Wrong("instance_type: m5.large", AtHome("local")), "");  // ignored there
  EXPECT_NE(Wrong("instance_type: m5.large"), "");
  ParseOptions flags = AtHome("aws/us-east-1");
  flags.overrides.instance_type = "m5.large";
  flags.overrides.disk_size = "100GB";
  flags.overrides.image = "ami-1";
  EXPECT_EQ(Wrong("", flags), "");
  flags.overrides.infra.reset();
  EXPECT_NE(Wrong("", flags).find("Give --infra aws/REGION"), std::string::npos);
}

TEST(CloudMachine, WhatIsNoneIsRefused) {
  for (const char* bad : {"instance_type: 'g6 xlarge'", "instance_type: ''", "image_id: ubuntu",
                          "image_id: 'docker:-x'", "image_id: 'ssm:relative'", "image_id: ami-/x",
                          "disk_size: 0", "disk_size: -3", "disk_size: much", "disk_size: 20000",
                          "instance_type: [a]", "image_id: {us-east-1: ami-1}"}) {
    EXPECT_NE(Wrong(std::string("infra: aws/us-east-1, ") + bad), "") << bad;
  }
  EXPECT_NE(Wrong("infra: aws/us-east-1/us-east-1a/more"), "");
  EXPECT_NE(Wrong("infra: aws/"), "");
}

TEST(Aws, IsRead) {
  const ParsedSpec parsed = ParseJobSpecAll(
      "resources: {infra: aws/us-east-1}\nrun: x\n"
      "aws: {placement: CLUSTER, efa: true, capacity_reservation: cr-0f3,\n"
      "      subnet: subnet-1, security_groups: [default, sg-7], metadata_tags: true}\n",
      AtHome());
  ASSERT_TRUE(parsed.errors.empty()) << ErrorsToStatus(parsed.errors).ToString();
  const AwsSpec& aws = parsed.spec.sections.aws;
  EXPECT_EQ(aws.placement, "cluster");
  EXPECT_TRUE(aws.efa);
  EXPECT_TRUE(aws.metadata_tags);
  EXPECT_EQ(aws.capacity_reservation, "cr-0f3");
  EXPECT_EQ(aws.subnets, std::vector<std::string>{"subnet-1"});
  EXPECT_EQ(aws.security_groups, (std::vector<std::string>{"default", "sg-7"}));
}

TEST(Gcp, IsRead) {
  const auto parse = [](const std::string& gcp) {
    return ParseJobSpecAll("resources: {infra: gcp/us-central1}\nrun: x\ngcp: " + gcp, AtHome());
  };
  const ParsedSpec parsed = parse("{placement: CLUSTER}");
  ASSERT_TRUE(parsed.errors.empty()) << ErrorsToStatus(parsed.errors).ToString();
  EXPECT_EQ(parsed.spec.sections.gcp.placement, "cluster");
  for (const char* bad : {"x", "{placement: spread}", "{plcement: cluster}"}) {
    EXPECT_FALSE(parse(bad).errors.empty()) << bad;
  }
  EXPECT_NE(ErrorsToStatus(parse("{project: p}").errors).ToString().find("gcp.project PROJECT"),
            std::string::npos);
}

TEST(Aws, WhatIsNoneIsRefused) {
  const auto wrong = [](const std::string& aws) {
    const ParsedSpec parsed =
        ParseJobSpecAll("resources: {infra: aws/us-east-1}\nrun: x\naws: " + aws, AtHome());
    return parsed.errors.empty() ? "" : ErrorsToStatus(parsed.errors).ToString();
  };
  for (const char* bad :
       {"x", "{placement: spread}", "{efa: much}", "{capacity_reservation: 'cr-/x'}",
        "{capacity_reservation: cr-}", "{subnet: vpc-1}", "{subnet: [subnet-1, {a: b}]}",
        "{security_groups: [\"a\\nb\"]}", "{security_groups: [a, b, c, d, e, f]}",
        "{plcement: cluster}"}) {
    EXPECT_NE(wrong(bad), "") << bad;
  }
  EXPECT_NE(wrong("{market: capacity-block}").find("capacity_reservation"), std::string::npos);
  EXPECT_NE(wrong("{vpc: vpc-1}").find("aws.subnet"), std::string::npos);
}

}  // namespace
}  // namespace stoker

// SPDX-License-Identifier: Apache-2.0
#include "spec/choices.h"

#include <gtest/gtest.h>

#include "spec/print.h"
#include "test/kit/places.h"

namespace stoker {
namespace {

ParseOptions InHome(const std::string& infra = "") {
  ParseOptions options;
  options.base_dir = "/w";
  if (!infra.empty()) options.overrides.infra = infra;
  return options;
}

ParsedSpec ReadChoice(const std::string& resources, const ParseOptions& options = InHome()) {
  return ParseJobSpecAll("run: x\nresources:\n" + resources, options);
}

std::string WrongChoice(const std::string& resources, const ParseOptions& options = InHome()) {
  const ParsedSpec parsed = ReadChoice(resources, options);
  return parsed.errors.empty() ? "" : ErrorsToStatus(parsed.errors).ToString();
}

// SkyPilot's files say it in each.
TEST(Choices, NameOneContainer) {
  const ParsedSpec all = ReadChoice(R"(  any_of:
    - {infra: local, image_id: 'docker:me/a:1'}
    - {infra: aws/us-east-1, image_id: 'docker:me/a:1', instance_type: g6.xlarge}
)");
  ASSERT_TRUE(all.errors.empty()) << ErrorsToStatus(all.errors).ToString();
  EXPECT_EQ(all.spec.container.image, "me/a:1");
  ASSERT_EQ(all.spec.choices.size(), 2U);
  EXPECT_EQ(all.spec.choices[1].image_id, "");
  EXPECT_EQ(ReadChoice(R"(  image_id: docker:me/a:1
  any_of: [{infra: local}, {infra: aws, image_id: 'docker:me/a:1'}]
)")
                .spec.container.image,
            "me/a:1");
  const auto wrong = [](const std::string& list, const std::string& words) {
    const std::string said = WrongChoice("  any_of: " + list + "\n");
    EXPECT_NE(said.find(words), std::string::npos) << said;
    EXPECT_NE(said.find("'container' at the top"), std::string::npos) << said;
  };
  wrong("[{infra: local, image_id: 'docker:a'}, {infra: aws, image_id: 'docker:b'}]",
        "several images of containers: a, b");
  wrong("[{infra: local, image_id: 'docker:a'}, {infra: aws}]", "name the image of a container");
}

constexpr const char* kThree = R"(  gpus: 1
  labels: {team: vision}
  any_of:
    - infra: local
    - {infra: AWS/us-east-1, use_spot: true, instance_type: g6.xlarge}
    - {cloud: gcp, accelerators: L4:2, disk_size: 200}
  disk_size: 100
  priority: 3
)";

TEST(Choices, AreWholeAndTakeWhatStandsBesideThem) {
  const ParsedSpec parsed = ReadChoice(kThree);
  ASSERT_TRUE(parsed.errors.empty()) << ErrorsToStatus(parsed.errors).ToString();
  const auto& choices = parsed.spec.choices;
  ASSERT_EQ(choices.size(), 3U);
  EXPECT_FALSE(parsed.spec.ordered);
  EXPECT_EQ(parsed.spec.resources.infra, "local");
  EXPECT_EQ(choices[0].infra, "local");
  EXPECT_EQ(choices[0].gpus, 1);
  EXPECT_FALSE(choices[0].disk_gib);  // there is none to be had
  EXPECT_EQ(choices[1].infra, "aws/us-east-1");
  EXPECT_TRUE(choices[1].use_spot);
  EXPECT_EQ(choices[1].instance_type, "g6.xlarge");
  EXPECT_EQ(choices[1].disk_gib, 100);
  EXPECT_EQ(choices[2].gpus, 2);
  EXPECT_EQ(choices[2].gpu_name, "L4");
  EXPECT_EQ(choices[2].disk_gib, 200);
  for (const ResourcesSpec& one : choices) {
    EXPECT_EQ(one.priority, 3);
    EXPECT_EQ(one.labels.at("team"), "vision");
  }
}

TEST(Choices, AreStoredAsTheyAre) {
  for (const std::string& text :
       {std::string(kThree),
        std::string("  ordered: [{infra: gcp/us-central1, use_spot: true}, "
                    "{infra: gcp/us-central1}, {infra: slurm/gpu}]\n"),
        std::string("  infra: aws\n  any_of: [{use_spot: true}, {cpus: 4, memory: 8}]\n")}) {
    const ParsedSpec parsed = ReadChoice(text);
    ASSERT_TRUE(parsed.errors.empty()) << ErrorsToStatus(parsed.errors).ToString();
    const std::string printed = PrintJobSpec(parsed.spec);
    const auto stored = ParseStoredSpec(printed);
    ASSERT_TRUE(stored.ok()) << stored.status().ToString() << "\n" << printed;
    EXPECT_EQ(*stored, parsed.spec) << printed;
    EXPECT_EQ(PrintJobSpec(*stored), printed);
  }
}

TEST(Choices, KindsOfAcceleratorsAreChoices) {
  for (const char* text : {"{L4: 1, A100: 8}", "{L4:1, A100:8}", "[L4:1, 'A100:8']"}) {
    const ParsedSpec parsed =
        ReadChoice(std::string("  infra: aws\n  accelerators: ") + text + "\n");
    ASSERT_TRUE(parsed.errors.empty()) << text << ErrorsToStatus(parsed.errors).ToString();
    ASSERT_EQ(parsed.spec.choices.size(), 2U) << text;
    EXPECT_EQ(parsed.spec.choices[0].gpu_name, "L4");
    EXPECT_EQ(parsed.spec.choices[1].gpus, 8);
    EXPECT_EQ(parsed.spec.choices[1].infra, "aws");
    EXPECT_EQ(parsed.spec.ordered, text[0] == '[');
    EXPECT_EQ(*ParseStoredSpec(PrintJobSpec(parsed.spec)), parsed.spec);
  }
  EXPECT_NE(WrongChoice("  accelerators: {L4: 1, A100: many}\n").find("'resources.accelerators'"),
            std::string::npos);
  EXPECT_NE(WrongChoice("  accelerators: {L4: 1, T4: 1}\n  any_of: [{infra: aws}]\n")
                .find("more than one list"),
            std::string::npos);
}

TEST(Choices, OneIsNone) {
  const ParsedSpec parsed = ReadChoice("  any_of: [{infra: gcp/us-central1, cpus: 4}]\n");
  ASSERT_TRUE(parsed.errors.empty());
  EXPECT_TRUE(parsed.spec.choices.empty());
  EXPECT_EQ(parsed.spec.resources.infra, "gcp/us-central1");
  EXPECT_EQ(parsed.spec.resources.cpus, 4000);
}

TEST(Choices, EachIsAJobOfItsOwn) {
  const JobSpec spec = ReadChoice(kThree).spec;
  const std::vector<JobSpec> all = ChoicesOf(spec);
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[2].resources, spec.choices[2]);
  EXPECT_TRUE(all[2].choices.empty());
  EXPECT_EQ(all[2].run, "x");
  EXPECT_EQ(ChoicesOf(all[1]).size(), 1U);
  EXPECT_EQ(ChoicesOf(all[1])[0], all[1]);
}

TEST(Choices, AFlagHoldsForAllOfThem) {
  ParseOptions options = InHome();
  options.overrides.gpus = "4";
  options.overrides.instance_type = "p5.48xlarge";
  options.overrides.use_spot = true;
  const ParsedSpec parsed = ReadChoice(kThree, options);
  ASSERT_TRUE(parsed.errors.empty()) << ErrorsToStatus(parsed.errors).ToString();
  for (const ResourcesSpec& one : parsed.spec.choices) {
    EXPECT_EQ(one.gpus, 4);
    EXPECT_EQ(one.gpu_name, "");
    EXPECT_TRUE(one.use_spot);
    EXPECT_EQ(one.instance_type, one.infra == "local" ? "" : "p5.48xlarge");
  }
  ASSERT_TRUE(ParseStoredSpec(PrintJobSpec(parsed.spec)).ok());
  // What it makes the same is one.
  options.overrides.infra.reset();
  const ParsedSpec same =
      ReadChoice("  infra: aws\n  any_of: [{use_spot: true}, {use_spot: false}]\n", options);
  EXPECT_TRUE(same.spec.choices.empty());
  EXPECT_TRUE(same.spec.resources.use_spot);
}

TEST(Choices, OnePlaceLeavesThoseThatAreThere) {
  const ParsedSpec aws = ReadChoice(kThree, InHome("aws/us-east-1/us-east-1b"));
  EXPECT_TRUE(aws.spec.choices.empty());
  EXPECT_EQ(aws.spec.resources.infra, "aws/us-east-1/us-east-1b");
  EXPECT_EQ(aws.spec.resources.instance_type, "g6.xlarge");
  ASSERT_EQ(aws.notes.size(), 1U);
  EXPECT_EQ(aws.notes[0],
            "--infra aws/us-east-1/us-east-1b: of 'any_of' only what is there counts");
  const ParsedSpec slurm = ReadChoice(kThree, InHome("slurm"));
  EXPECT_TRUE(slurm.errors.empty()) << ErrorsToStatus(slurm.errors).ToString();
  EXPECT_EQ(slurm.spec.resources.infra, "slurm");
  EXPECT_EQ(slurm.spec.resources.gpus, 1);
  EXPECT_FALSE(slurm.spec.resources.disk_gib);
  JobSpec both = ReadChoice(
                     "  infra: aws/us-east-1\n  any_of: [{use_spot: true}, {use_spot: false}, "
                     "{infra: gcp}]\n")
                     .spec;
  NarrowChoices("aws", &both);
  EXPECT_EQ(both.choices.size(), 2U);
  EXPECT_EQ(both.resources.infra, "aws/us-east-1");
}

TEST(Choices, ThoseThatNameNoPlaceAreWhereTheFlagSays) {
  for (const char* text : {"  accelerators: {L4: 1, A10G: 1}\n",
                           "  infra: gcp\n  any_of: [{gpus: L4}, {gpus: A10G}]\n"}) {
    const ParsedSpec parsed = ReadChoice(text, InHome("AWS/us-east-1"));
    ASSERT_TRUE(parsed.errors.empty()) << ErrorsToStatus(parsed.errors).ToString();
    ASSERT_EQ(parsed.spec.choices.size(), 2U) << text;
    EXPECT_TRUE(parsed.notes.empty()) << parsed.notes[0];
    EXPECT_EQ(parsed.spec.choices[0].infra, "aws/us-east-1");
    EXPECT_EQ(parsed.spec.choices[0].gpu_name, "L4");
    EXPECT_EQ(parsed.spec.choices[1].infra, "aws/us-east-1");
    EXPECT_EQ(parsed.spec.choices[1].gpu_name, "A10G");
  }
}

TEST(Choices, HereTheyAreIgnored) {
  const ParsedSpec parsed = ReadChoice(kThree, InHome("local"));
  EXPECT_TRUE(parsed.errors.empty());
  EXPECT_TRUE(parsed.spec.choices.empty());
  ASSERT_FALSE(parsed.notes.empty());
  EXPECT_NE(parsed.notes[0].find("resources.any_of"), std::string::npos);
}

TEST(Choices, WhatIsNoneIsRefusedByItsPlace) {
  const struct {
    const char* text;
    const char* says;
  } kCases[] = {
      {"  any_of: {infra: local}\n", "'resources.any_of' must be a list"},
      {"  any_of: [aws]\n", "'resources.any_of' must be a map"},
      {"  any_of: [{infra: mars}, {infra: local}]\n", "'resources.any_of.infra' cannot be"},
      {"  any_of: [{infra: local, labels: {a: b}}]\n", "write them beside the list"},
      {"  any_of: [{infra: aws, region: eu-west-4}]\n", "Write it behind the infra"},
      {"  any_of: [{infra: local, instance_type: m5.large}]\n", "instance_type"},
      {"  any_of: [{infra: local}, {infra: local}]\n", "the same choice twice"},
      {"  any_of: [{infra: local}]\n  ordered: [{infra: aws}]\n", "more than one list of choices"},
      {"  any_of: [{infra: local, cpus: many}]\n", "'resources.cpus'"},
  };
  for (const auto& one : kCases) {
    EXPECT_NE(WrongChoice(one.text).find(one.says), std::string::npos) << one.text << "\n"
                                                                       << WrongChoice(one.text);
  }
  std::string many = "  any_of:\n";
  for (int i = 1; i <= 17; ++i) many += "    - {infra: local, cpus: " + std::to_string(i) + "}\n";
  EXPECT_NE(WrongChoice(many).find("At most 16"), std::string::npos) << WrongChoice(many);
}

TEST(Overrides, AnImageTakesThePlaceOfADockerfileAndOfALoginElsewhere) {
  const auto of = [](const std::string& flag, const std::string& container) {
    ParseOptions options = InHome();
    options.overrides.container = flag;
    return ParseJobSpecAll("run: x\ncontainer: " + container + "\n", options).spec.container;
  };
  const ContainerSpec built = of("docker.io/x/y", "{dockerfile: D}");
  EXPECT_EQ(built.dockerfile, "");
  EXPECT_EQ(built.image, "docker.io/x/y");
  const std::string login = "{image: h.io/a, login: {user: me, password: $P}}";
  EXPECT_EQ(of("docker.io/x/y", login).login.password, "");
  EXPECT_EQ(of("h.io/b", login).login.password, "$P");
}

}  // namespace
}  // namespace stoker

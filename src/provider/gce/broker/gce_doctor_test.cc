// SPDX-License-Identifier: Apache-2.0
// What a project's quotas and firewall rules say -> what people read. The lists are as
// projects.get, regions.get and firewalls.list of the Compute Engine v1 API have them.
#include "provider/gce/broker/gce_doctor.h"

#include <gtest/gtest.h>

namespace stoker::gce {
namespace {

// As Google writes the network of a rule.
constexpr char kOfDefault[] =
    R"("network":"https://www.googleapis.com/compute/v1/projects/p/global/networks/default",)";
constexpr char kDefault[] = "projects/p/global/networks/default";
constexpr char kAccount[] = "stoker@p.iam.gserviceaccount.com";
constexpr char kHere[] = "10.128.0.0/20";

std::string Told(const std::vector<Finding>& all) {
  std::string out;
  for (const Finding& each : all) out += each.level + " " + each.what + ": " + each.text + "\n";
  return out;
}

TEST(GceDoctor, RangesLieInRanges) {
  EXPECT_TRUE(LiesIn(kHere, "10.128.0.0/9"));
  EXPECT_TRUE(LiesIn(kHere, "0.0.0.0/0"));
  EXPECT_TRUE(LiesIn(kHere, kHere));
  EXPECT_TRUE(LiesIn("10.1.2.3", "10.1.2.3/32"));
  EXPECT_FALSE(LiesIn("10.128.0.0/9", kHere));
  EXPECT_FALSE(LiesIn("10.0.0.0/20", "10.128.0.0/9"));
  for (const char* none : {"", "10.0.0.0/33", "10.0.0/8", "10.0.0.256/8", "fd20::/20", "1.2.3.4/"})
    EXPECT_FALSE(LiesIn(none, "0.0.0.0/0")) << none;
}

TEST(GceDoctor, AQuotaOfNothingIsSaidWithTheCommand) {
  const std::string young = Told(TellQuotas(
      R"({"quotas":[{"metric":"CPUS_ALL_REGIONS","limit":12.0},
                       {"metric":"GPUS_ALL_REGIONS","limit":0.0}]})",
      ""));
  EXPECT_NE(young.find("note quota: no GPU in any region. "), std::string::npos) << young;
  EXPECT_NE(young.find("--quota-id GPUS-ALL-REGIONS-per-project "), std::string::npos) << young;
  const std::string region = Told(TellQuotas(
      R"({"quotas":[{"metric":"CPUS","limit":0.0},{"metric":"NVIDIA_T4_GPUS","limit":0.0},
          {"metric":"NVIDIA_L4_GPUS","limit":0},{"metric":"PREEMPTIBLE_NVIDIA_L4_GPUS","limit":1},
          {"metric":"COMMITTED_NVIDIA_T4_GPUS","limit":0},{"metric":"PREEMPTIBLE_CPUS","limit":0},
          {"metric":"C2_CPUS","limit":0.0},{"metric":"N2_CPUS","limit":8.0},7]})",
      "us-central1"));
  EXPECT_NE(region.find("bad quota: no machine in us-central1. "), std::string::npos) << region;
  EXPECT_NE(region.find("no GPUs of these kinds in us-central1, of which the quota is 0: "
                        "NVIDIA_T4_GPUS. "),
            std::string::npos)
      << region;
  EXPECT_NE(region.find("the quota is 0: C2_CPUS. "), std::string::npos) << region;
  EXPECT_NE(region.find("--quota-id CPUS-per-project-region --preferred-value N "
                        "--dimensions region=us-central1"),
            std::string::npos)
      << region;
  EXPECT_EQ(Told(TellQuotas(R"({"quotas":[{"metric":"CPUS","limit":24.0}]})", "r")),
            "ok quota: none that counts is 0 in r\n");
}

TEST(GceDoctor, TheRulesOfTheDefaultNetworkAreEnough) {
  const std::string told = Told(TellFirewall(R"({"items":[{"name":"default-allow-internal",)" +
                                                 std::string(kOfDefault) + R"(
         "direction":"INGRESS","disabled":false,"sourceRanges":["10.128.0.0/9"],
         "allowed":[{"IPProtocol":"tcp","ports":["0-65535"]},{"IPProtocol":"icmp"}]},
        {"name":"default-allow-ssh",)" + kOfDefault +
                                                 R"(
         "direction":"INGRESS","sourceRanges":["0.0.0.0/0"],
         "allowed":[{"IPProtocol":"tcp","ports":["22"]}]}]})",
                                             kDefault, kHere, kAccount));
  EXPECT_EQ(told,
            "ok firewall: nodes of a job reach each other in default\n"
            "ok ssh: Identity-Aware Proxy reaches port 22 in default\n");
}

TEST(GceDoctor, WhatIsNotLetInIsSaidWithTheCommand) {
  const std::string none = Told(TellFirewall("{}", kDefault, kHere, kAccount));
  EXPECT_NE(none.find("gcloud compute firewall-rules create stoker-internal --network default "
                      "--allow tcp,udp,icmp --source-ranges 10.128.0.0/20"),
            std::string::npos)
      << none;
  EXPECT_NE(none.find("--allow tcp:22 --source-ranges 35.235.240.0/20"), std::string::npos) << none;
  EXPECT_NE(none.find("roles/iap.tunnelResourceAccessor"), std::string::npos) << none;
}

TEST(GceDoctor, RulesForOthersDoNotCount) {
  const auto let_in = [](const std::string& more) {
    const std::string told =
        Told(TellFirewall(R"({"items":[{)" + std::string(kOfDefault) +
                              R"("allowed":[{"IPProtocol":"all"}],)" + more + "}]}",
                          kDefault, kHere, kAccount));
    return told.find("ok firewall") != std::string::npos;
  };
  const std::string from = R"("sourceRanges":["10.0.0.0/8"])";
  EXPECT_TRUE(let_in(from));
  EXPECT_TRUE(let_in(from + R"(,"targetServiceAccounts":["stoker@p.iam.gserviceaccount.com"])"));
  EXPECT_FALSE(let_in(from + R"(,"targetServiceAccounts":["x@p.iam.gserviceaccount.com"])"));
  EXPECT_FALSE(let_in(from + R"(,"targetTags":["web"])"));
  EXPECT_FALSE(let_in(from + R"(,"disabled":true)"));
  EXPECT_FALSE(let_in(from + R"(,"direction":"EGRESS")"));
  EXPECT_FALSE(let_in(R"("sourceTags":["web"])"));
  EXPECT_FALSE(let_in(R"("sourceRanges":["192.168.0.0/16"])"));
}

}  // namespace
}  // namespace stoker::gce

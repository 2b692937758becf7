// SPDX-License-Identifier: Apache-2.0
// What a job asks, resolved to what Compute Engine has, as the lab plays it: one error each for
// what cannot be had, and nothing made.
#include "provider/gce/gce_resolve.h"

#include <gtest/gtest.h>

#include "provider/gce/broker/gce_doctor.h"
#include "provider/gce/gce_placement.h"
#include "test/gcp/subject.h"

namespace stoker {
namespace {

using gce_test::Order;

GceWish Wish() {
  EXPECT_EQ(Order("reset"), "ok");
  GceWish wish;
  wish.project = gce_test::kProject;
  wish.region = "us-central1";
  return wish;
}

Result<std::vector<Offer>> Resolve(const GceWish& wish) {
  return ResolveGce(*gce_test::Api(), wish);
}

// The error's words and what to do, as a person sees them.
std::string Refused(const GceWish& wish) {
  const auto offers = Resolve(wish);
  EXPECT_FALSE(offers.ok());
  EXPECT_EQ(Order("made"), "nothing");
  return offers.status().message() + " | " + offers.status().next();
}

TEST(GceResolve, OneOfferForEachZone) {
  const auto offers = Resolve(Wish());
  ASSERT_TRUE(offers.ok()) << offers.status().ToString();
  ASSERT_EQ(offers->size(), 4U);
  EXPECT_EQ(offers->front().ask.place,
            (Place{"gce", "lab-project", "us-central1", "us-central1-a"}));
  EXPECT_EQ(offers->front().ask.type, "e2-standard-2");
  EXPECT_EQ(offers->front().ask.image,
            "projects/debian-cloud/global/images/debian-12-bookworm-v20261110");
  const auto options = gce::ParseOptions(offers->front().ask.options);
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->service_account, "stoker@lab-project.iam.gserviceaccount.com");
  EXPECT_EQ(options->network, "projects/lab-project/global/networks/default");
  EXPECT_EQ(Order("made"), "nothing");
}

TEST(GceResolve, TypesThatBringTheirGpus) {
  GceWish wish = Wish();
  wish.gpus = 2;
  wish.gpu_name = "L4";
  const auto offers = Resolve(wish);
  ASSERT_TRUE(offers.ok()) << offers.status().ToString();
  ASSERT_EQ(offers->size(), 3U);
  EXPECT_EQ(offers->front().ask.type, "g2-standard-24");
  const auto options = gce::ParseOptions(offers->front().ask.options);
  EXPECT_EQ(options->gpus, 2);
  EXPECT_EQ(options->accelerators, 0);
  EXPECT_NE(offers->front().ask.image.find("deeplearning-platform-release"), std::string::npos);
}

TEST(GceResolve, WhatTheImageLacksIsSaidOnce) {
  GceWish wish = Wish();
  std::vector<std::string> said;
  wish.say = [&](const std::string& remark) { said.push_back(remark); };
  wish.packages = true;
  ASSERT_TRUE(Resolve(wish).ok());
  ASSERT_EQ(said.size(), 1U);
  EXPECT_NE(said[0].find("each machine's disk has 10 GiB"), std::string::npos) << said[0];
  said.clear();
  wish.disk_gib = 50;
  ASSERT_TRUE(Resolve(wish).ok());
  EXPECT_TRUE(said.empty());
  wish.gpus = 1;
  wish.gpu_name = "L4";
  wish.packages = false;
  ASSERT_TRUE(Resolve(wish).ok());
  ASSERT_EQ(said.size(), 1U);
  EXPECT_NE(said[0].find("no PyTorch"), std::string::npos) << said[0];
}

TEST(GceResolve, GpusThatAreAttached) {
  GceWish wish = Wish();
  wish.gpus = 1;
  wish.gpu_name = "T4";
  wish.zone = "us-central1-f";
  const auto offers = Resolve(wish);
  ASSERT_TRUE(offers.ok()) << offers.status().ToString();
  ASSERT_EQ(offers->size(), 1U);
  EXPECT_EQ(offers->front().ask.type, "n1-standard-4");
  const auto options = gce::ParseOptions(offers->front().ask.options);
  EXPECT_EQ(options->accelerator, "nvidia-tesla-t4");
  EXPECT_EQ(options->accelerators, 1);
}

TEST(GceResolve, WhatIsResolvedIsTaken) {
  GceWish wish = Wish();
  wish.gpus = 1;
  wish.gpu_name = "T4";
  wish.spot = true;
  wish.labels = {{"team", "vision"}};
  const auto offers = Resolve(wish);
  ASSERT_TRUE(offers.ok()) << offers.status().ToString();
  const auto gce = MakeGceProvider(gce_test::Api(), gce_test::Notes());
  for (const size_t count : {size_t{1}, size_t{2}}) {
    LaunchRequest request =
        gce_test::RequestOf("resolved-" + std::to_string(count), gce_test::Api()->Now());
    request.ask = offers->front().ask;
    request.launches.resize(count, 4);
    const auto ids = gce->Launch(request);
    EXPECT_TRUE(ids.ok()) << ids.status().ToString();
  }
}

TEST(GceResolve, NearEachOther) {
  GceWish wish = Wish();
  wish.cluster = true;
  const auto offers = Resolve(wish);
  ASSERT_TRUE(offers.ok()) << offers.status().ToString();
  EXPECT_EQ(offers->front().ask.type, "n2-standard-2") << "e2 takes no policy";
  EXPECT_EQ(gce::ParseOptions(offers->front().ask.options)->placement, gce::kCluster);
  wish.type = "e2-standard-2";
  EXPECT_NE(Refused(wish).find("e2-standard-2 cannot be placed near each other"),
            std::string::npos);
  wish = Wish();
  wish.cluster = true;
  wish.gpus = 1;
  wish.gpu_name = "T4";  // for n1 alone
  EXPECT_NE(Refused(wish), "");
}

TEST(GceResolve, AMisspeltWordHasItsNearest) {
  GceWish region = Wish();
  region.region = "us-centrall";
  EXPECT_EQ(Refused(region), "Google has no region 'us-centrall' | Did you mean us-central1?");
  GceWish zone = Wish();
  zone.zone = "us-central1-d";
  EXPECT_NE(Refused(zone).find("there is no zone 'us-central1-d' in us-central1 | Did you mean"),
            std::string::npos);
  GceWish type = Wish();
  type.type = "e2-standrad-4";
  EXPECT_EQ(Refused(type),
            "there is no type 'e2-standrad-4' in us-central1 | Did you mean e2-standard-4?");
  GceWish image = Wish();
  image.image = "projects/debian-cloud/global/images/family/debain-12";
  EXPECT_EQ(Refused(image),
            "there is no family of images 'debain-12' in the project debian-cloud | Did you mean "
            "debian-12?");
  GceWish gpu = Wish();
  gpu.gpus = 1;
  gpu.gpu_name = "L44";
  EXPECT_EQ(Refused(gpu),
            "no machine of Google in us-central1 has GPUs of the kind L44 | Did you mean L4?");
}

TEST(GceResolve, AGpuThatTheZoneDoesNotHave) {
  GceWish wish = Wish();
  wish.zone = "us-central1-f";
  wish.gpus = 8;
  wish.gpu_name = "H100";
  EXPECT_EQ(Refused(wish), "the zone us-central1-f does not have H100 | These have: us-central1-a");
}

TEST(GceResolve, WhatIsRefusedForItsForm) {
  GceWish capitals = Wish();
  capitals.labels = {{"team", "Vision"}};
  EXPECT_NE(Refused(capitals).find("the label 'team' cannot be 'Vision' | Write 'vision'"),
            std::string::npos);
  GceWish key = Wish();
  key.labels = {{"Team", "x"}};
  EXPECT_NE(Refused(key).find("not a label for Google: 'Team' | Write 'team'"), std::string::npos);
  GceWish longer = Wish();
  longer.labels = {{"team", std::string(64, 'x')}};
  EXPECT_NE(Refused(longer).find("at most 63"), std::string::npos);
  GceWish nobody = Wish();
  nobody.project.clear();
  EXPECT_NE(Refused(nobody).find("no project of Google is set | Set it: stoker config set"),
            std::string::npos);
  GceWish arm = Wish();
  arm.type = "t2a-standard-4";
  EXPECT_NE(Refused(arm).find("another processor than x86-64"), std::string::npos);
  GceWish small = Wish();
  small.disk_gib = 5;
  EXPECT_NE(Refused(small).find("a disk of 5 GiB is smaller than"), std::string::npos);
  GceWish network = Wish();
  network.network = "nowhere";
  EXPECT_NE(Refused(network).find("there is no network 'nowhere'"), std::string::npos);
}

TEST(GceResolve, WhatTheProjectLacks) {
  GceWish wish = Wish();
  ASSERT_EQ(Order("setting?name=enabled&value=false"), "ok");
  EXPECT_NE(Refused(wish).find("gcloud services enable compute.googleapis.com"), std::string::npos);
  wish = Wish();
  ASSERT_EQ(Order("deny?permissions=compute.machineTypes.list"), "ok");
  EXPECT_NE(Refused(wish).find("doctor --iam"), std::string::npos);
  ASSERT_EQ(Order("deny"), "ok");
}

std::string Examined(const GceWish& wish) {
  std::string out;
  for (const Finding& each : ExamineGce(*gce_test::Api(), wish)) {
    out += each.level + " " + each.what + ": " + each.text + "\n";
  }
  EXPECT_EQ(Order("made"), "nothing");
  return out;
}

void Says(const std::string& told, std::initializer_list<const char*> all) {
  for (const char* each : all)
    EXPECT_NE(told.find(each), std::string::npos) << each << "\n" << told;
}

TEST(GceDoctor, TellsWhatThereIs) {
  Says(Examined(Wish()), {"ok project: lab-project", "ok machines: e2-standard-2 in us-central1-a,",
                          "ok subnetwork: default", "note firewall: no rule of default",
                          "note account: not tried", "note launch: not tried"});
  GceWish inside = Wish();
  inside.external_ip = false;
  Says(Examined(inside), {"bad subnetwork: gcp.external_ip is false, and default has no Private",
                          "subnets update default --region us-central1 --enable-private"});
}

TEST(GceDoctor, TellsWhatTheProjectLacks) {
  GceWish wish = Wish();
  ASSERT_EQ(Order("quota?metric=NVIDIA_L4_GPUS&limit=0"), "ok");
  ASSERT_EQ(Order("quota?metric=PREEMPTIBLE_NVIDIA_L4_GPUS&limit=0"), "ok");
  ASSERT_EQ(Order("quota?metric=INSTANCES&limit=0"), "ok");
  Says(Examined(wish), {"bad quota: no machine in us-central1. ", "is 0: NVIDIA_L4_GPUS. "});
  wish = Wish();
  ASSERT_EQ(Order("deny?permissions=compute.projects.get,compute.firewalls.list"), "ok");
  Says(Examined(wish), {"note project: quotas of all regions together are not known: ",
                        "note firewall: whether nodes reach each other, and ssh reaches them, is "
                        "not known: ",
                        "ok machines"});
  ASSERT_EQ(Order("deny"), "ok");
  wish = Wish();
  ASSERT_EQ(Order("setting?name=enabled&value=false"), "ok");
  const std::string off = Examined(wish);
  Says(off, {"bad project: ", "gcloud services enable compute.googleapis.com"});
  EXPECT_EQ(off.find("machines"), std::string::npos) << "nothing else is answered";
  GceWish nobody = Wish();
  nobody.project.clear();
  Says(Examined(nobody), {"bad project: no project of Google is set"});
}

}  // namespace
}  // namespace stoker

// SPDX-License-Identifier: Apache-2.0
#include "provider/ec2/ec2_platform.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <thread>

#include "base/text.h"
#include "provider/cloud/cloud_launch.h"
#include "provider/ec2/ec2_boot.h"
#include "sys/file.h"
#include "test/kit/memory_store.h"

namespace stoker {
namespace {

// Moved by the test, read by the platform's threads, too.
struct HostClock : Clock {
  struct Now {
    std::atomic<int64_t> ms = ParseRfc3339("2026-11-24T10:00:00Z")->ms;
    operator WallTime() const { return {ms.load()}; }  // NOLINT: implicit on purpose
    Now& operator=(WallTime at) {
      ms = at.ms;
      return *this;
    }
    WallTime operator+(Duration d) const { return WallTime(*this) + d; }
    WallTime operator-(Duration d) const { return WallTime(*this) - d; }
  } now;
  MonoTime Mono() override { return {now.ms.load()}; }
  WallTime Wall() override { return now; }
};

struct Told {
  int index = 1;
  Result<std::optional<Notice>> notice = std::optional<Notice>();
  Result<std::optional<Notice>> maintenance = std::optional<Notice>();
  std::optional<WallTime> rebalance;
  std::atomic<int64_t> drill_ms = -1;  // -1 = nobody has asked
  Status tag;
  std::vector<std::string> tags;
  std::vector<std::string> off;
};

class FakeMetadata : public Ec2Metadata {
 public:
  explicit FakeMetadata(Told& told) : told_(told) {}
  Result<std::optional<Notice>> PollNotice() override { return told_.notice; }
  Result<MachineIdentity> Identity() override { return MachineIdentity{"i-1", "172.31.0.9"}; }
  Result<int> LaunchIndex() override { return told_.index; }
  Result<std::optional<WallTime>> PollRebalance() override { return told_.rebalance; }
  Result<std::optional<Notice>> PollMaintenance() override { return told_.maintenance; }

 private:
  Told& told_;
};

class Ec2Platform : public testing::Test {
 protected:
  Ec2Platform() {
    request_.token = "token1";
    request_.ledger_id = "ledger1";
    request_.store_url = "s3://bucket";
    request_.job = "job1";
    request_.ask.place = {"ec2", "", "us-east-1", "us-east-1a"};
    request_.launches = {7, 9};
    request_.binary_digest = std::string(64, 'b');
    request_.limit = Duration::Hours(24);
    request_.not_after = clock_.now + Duration::Minutes(5);
    EXPECT_TRUE(sys::WriteFileAtomic(File(ec2::kLaunchFile), cloud::EncodeLaunch(request_)).ok());
    EXPECT_TRUE(Lease(clock_.now + Duration::Hours(24)).ok());
  }
  std::string File(const std::string& name) const { return dir_.path() + "/" + name; }
  Status Lease(WallTime at) {
    return sys::WriteFileAtomic(File("deadline"), std::to_string(at.ms / 1000) + "\n");
  }
  std::string Deadline() const { return sys::ReadFile(File("deadline"), 100).value_or("none"); }
  std::string Seconds(Duration from_now) const {
    return std::to_string((clock_.now + from_now).ms / 1000) + "\n";
  }

  Result<std::unique_ptr<NodePlatform>> Make() {
    Ec2PlatformOptions options;
    options.dir = options.instance_dir = dir_.path();
    options.boot_id_file = File("run/boot-id");
    options.metadata = std::make_unique<FakeMetadata>(told_);
    options.drill = [this](ObjectStore&) -> Result<std::optional<Duration>> {
      if (blocked_ != nullptr) const std::lock_guard waits(*blocked_);
      if (told_.drill_ms < 0) return std::optional<Duration>();
      return std::optional(Duration::Ms(told_.drill_ms));
    };
    options.drill_every = Duration::Ms(5);
    options.tag = [this](const std::string& id, WallTime at) {
      ++asked_;
      if (tag_blocked_ != nullptr) const std::lock_guard waits(*tag_blocked_);
      told_.tags.push_back(id + " " + FormatRfc3339(at));
      return told_.tag;
    };
    options.power_off = [this](const std::string& why) {
      told_.off.push_back(why);
      return Status::Ok();
    };
    auto platform = MakeEc2Platform(std::move(options), clock_);
    if (platform.ok()) (*platform)->Use(store_);
    return platform;
  }

  MemoryStore store_;
  std::mutex* blocked_ = nullptr;      // the store answers once it is free
  std::atomic<int> asked_ = 0;         // how often that was asked to move the lease
  std::mutex* tag_blocked_ = nullptr;  // the cloud's API the same
  HostClock clock_;
  Told told_;
  LaunchRequest request_;
  sys::TempDir dir_ = *sys::TempDir::Make("ec2-host");
};

TEST_F(Ec2Platform, KnowsWhoItIs) {
  const auto nothing = FindEc2Platform(dir_.path() + "/nothing", clock_);
  EXPECT_TRUE(nothing.ok() && *nothing == nullptr);
  const auto platform = Make();
  ASSERT_TRUE(platform.ok()) << platform.status().ToString();
  const NodeIdentity& me = (*platform)->identity();
  EXPECT_EQ(me.launch, 9);
  EXPECT_EQ(me.index, 1);
  EXPECT_EQ(me.instance_id, "i-1");
  EXPECT_EQ(me.address, "172.31.0.9");
  EXPECT_EQ(me.request.job, "job1");
  const std::string boot = me.boot_id;
  EXPECT_EQ((*Make())->identity().boot_id, boot);
  ASSERT_EQ(unlink(File("run/boot-id").c_str()), 0);  // a reboot empties /run
  EXPECT_NE((*Make())->identity().boot_id, boot);
  told_.index = 2;
  EXPECT_EQ(Make().code(), Code::kCorrupt);
}

TEST_F(Ec2Platform, TheFirstOfAllNoticesCounts) {
  auto platform = *Make();
  EXPECT_EQ(*platform->PollNotice(), std::nullopt);
  const Notice spot{"terminate", clock_.now + Duration::Minutes(2)};
  told_.notice = std::optional(spot);
  EXPECT_EQ(*platform->PollNotice(), spot);
  told_.notice = std::optional<Notice>();
  EXPECT_EQ(*platform->PollNotice(), std::nullopt) << "it was withdrawn";
  told_.notice = Status(Code::kTimeout, "no answer");
  EXPECT_EQ(platform->PollNotice().code(), Code::kTimeout);
}

TEST_F(Ec2Platform, MaintenanceCountsOnceItIsNear) {
  auto platform = *Make();
  const Notice far{"instance-stop", clock_.now + Duration::Hours(24 * 14)};
  told_.maintenance = std::optional(far);
  EXPECT_EQ(*platform->PollNotice(), std::nullopt);
  clock_.now = far.until - Duration::Minutes(10);
  ASSERT_TRUE(Lease(clock_.now + Duration::Hours(24)).ok());
  EXPECT_EQ(*platform->PollNotice(), far);
  // What cannot be asked for a moment takes nothing back.
  told_.maintenance = Status(Code::kTimeout, "no answer");
  clock_.now = clock_.now + Duration::Minutes(2);
  EXPECT_EQ(*platform->PollNotice(), far);
}

TEST_F(Ec2Platform, ADrillIsAsRealAsAny) {
  auto platform = *Make();
  EXPECT_EQ(*platform->PollNotice(), std::nullopt);
  told_.drill_ms = 120'000;
  const Notice drill{"terminate", clock_.now + Duration::Seconds(120)};
  for (int tries = 0; tries < 2000 && !*platform->PollNotice(); ++tries) usleep(5'000);
  EXPECT_EQ(*platform->PollNotice(), drill);
  EXPECT_EQ(Deadline(), Seconds(Duration::Seconds(120))) << "the machine ends at its end";
  clock_.now = clock_.now + Duration::Seconds(30);
  EXPECT_EQ(*platform->PollNotice(), drill) << "asked again, it is the same one";
  EXPECT_TRUE(platform->Renew(clock_.now + Duration::Hours(24)).ok());
  EXPECT_EQ(Deadline(), Seconds(Duration::Seconds(90))) << "and no lease is longer";
}

TEST_F(Ec2Platform, AStoreThatIsSilentHoldsUpNoNotice) {
  std::mutex gate;
  std::unique_lock shut(gate);
  blocked_ = &gate;
  auto platform = *Make();
  told_.notice = std::optional(Notice{"terminate", clock_.now + Duration::Minutes(2)});
  EXPECT_TRUE(platform->PollNotice()->has_value()) << "while the store does not answer";
  shut.unlock();
}

TEST_F(Ec2Platform, AnApiThatIsSilentHoldsUpNoNotice) {
  std::mutex gate;
  std::unique_lock shut(gate);
  tag_blocked_ = &gate;
  auto platform = *Make();
  clock_.now = clock_.now + Duration::Hours(1);
  std::thread renews([&] { EXPECT_TRUE(platform->Renew(clock_.now + Duration::Hours(24)).ok()); });
  while (asked_ == 0) usleep(1'000);
  told_.drill_ms = 120'000;
  const Notice drill{"terminate", clock_.now + Duration::Seconds(120)};
  for (int tries = 0; tries < 2000 && !*platform->PollNotice(); ++tries) usleep(5'000);
  EXPECT_EQ(*platform->PollNotice(), drill) << "while the lease is being renewed";
  shut.unlock();
  renews.join();
  EXPECT_EQ(Deadline(), Seconds(Duration::Seconds(120))) << "no late answer makes it longer";
}

TEST_F(Ec2Platform, TheLeaseIsNeverLongerThanWhatOthersSee) {
  auto platform = *Make();
  // FirstExpiry is five minutes and a day away.
  EXPECT_TRUE(platform->Renew(clock_.now + Duration::Hours(24)).ok());
  EXPECT_TRUE(told_.tags.empty());
  EXPECT_EQ(Deadline(), Seconds(Duration::Hours(24)));
  clock_.now = clock_.now + Duration::Hours(1);
  EXPECT_TRUE(platform->Renew(clock_.now + Duration::Hours(24)).ok());
  ASSERT_EQ(told_.tags.size(), 1U);
  EXPECT_EQ(told_.tags[0], "i-1 2026-11-25T17:00:00.000Z");
  EXPECT_EQ(Deadline(), Seconds(Duration::Hours(24)));
  clock_.now = clock_.now + Duration::Hours(5);
  EXPECT_TRUE(platform->Renew(clock_.now + Duration::Hours(24)).ok());
  EXPECT_EQ(told_.tags.size(), 1U) << "a tag lasts for a while";
  clock_.now = clock_.now + Duration::Hours(2);
  told_.tag = Status(Code::kDenied, "not allowed");
  EXPECT_EQ(platform->Renew(clock_.now + Duration::Hours(24)).code(), Code::kDenied);
  EXPECT_EQ(Deadline(), Seconds(*ParseRfc3339("2026-11-25T17:00:00Z") - clock_.now));
}

TEST_F(Ec2Platform, OneThatIsKeptEndsAtItsTime) {
  {
    auto platform = *Make();
    EXPECT_TRUE(platform->Keep(clock_.now + Duration::Minutes(30)).ok());
    EXPECT_EQ(Deadline(), Seconds(Duration::Minutes(30)));
    ASSERT_EQ(told_.tags.size(), 1U) << "whoever clears up sees it";
    EXPECT_EQ(told_.tags[0], "i-1 " + FormatRfc3339(clock_.now + Duration::Minutes(30)));
    EXPECT_TRUE(platform->Renew(clock_.now + Duration::Hours(24)).ok());
    clock_.now = clock_.now + Duration::Minutes(20);
    EXPECT_EQ(*platform->PollNotice(), std::nullopt) << "no program is there to be told";
  }
  auto again = *Make();
  EXPECT_TRUE(again->Renew(clock_.now + Duration::Hours(24)).ok());
  EXPECT_EQ(Deadline(), Seconds(Duration::Minutes(10)))
      << "an agent that is started again heeds it";
  EXPECT_EQ(told_.tags.size(), 1U);
  told_.tag = Status(Code::kUnavailable, "not now");
  EXPECT_FALSE(again->Keep(clock_.now + Duration::Minutes(5)).ok());
  EXPECT_EQ(Deadline(), Seconds(Duration::Minutes(5))) << "the machine itself first";
}

TEST_F(Ec2Platform, ALeaseThatEndsIsANotice) {
  auto platform = *Make();
  ASSERT_TRUE(Lease(clock_.now + Duration::Minutes(20)).ok());
  EXPECT_EQ(*platform->PollNotice(), std::nullopt);
  ASSERT_TRUE(Lease(clock_.now + Duration::Minutes(10)).ok());
  EXPECT_EQ(*platform->PollNotice(), (Notice{"terminate", clock_.now + Duration::Minutes(10)}));
}

TEST_F(Ec2Platform, AdviceAndPower) {
  auto platform = *Make();
  EXPECT_EQ(*platform->PollAdvice(), std::nullopt);
  told_.rebalance = clock_.now;
  const auto advice = platform->PollAdvice();
  ASSERT_TRUE(advice.ok() && *advice);
  EXPECT_EQ((*advice)->what, "rebalance");
  EXPECT_EQ(*platform->PollNotice(), std::nullopt) << "advice is no notice";
  EXPECT_TRUE(platform->PowerOff("the job ended").ok());
  EXPECT_EQ(told_.off, (std::vector<std::string>{"the job ended"}));
}

}  // namespace
}  // namespace stoker

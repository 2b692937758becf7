// SPDX-License-Identifier: Apache-2.0
#include "provider/gce/gce_platform.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>

#include "provider/cloud/cloud_launch.h"
#include "provider/gce/gce_boot.h"
#include "provider/gce/gce_request.h"
#include "sys/file.h"
#include "sys/real_clock.h"

namespace stoker {
namespace {

// A metadata server in this process, whose answers wait for a change as Google's do.
struct Server {
  std::mutex mutex;
  std::condition_variable bell;
  std::map<std::string, std::pair<std::string, int>> values;  // and which state of it
  Status trouble;

  void Set(const std::string& key, const std::string& text) {
    const std::lock_guard lock(mutex);
    auto& value = values[key];
    value = {text, value.second + 1};
    bell.notify_all();
  }
};

class FakeGceMetadata : public GceMetadata {
 public:
  explicit FakeGceMetadata(Server& server) : server_(server) {}
  Result<std::string> Get(const std::string& key) override {
    STOKER_ASSIGN(const GceValue value, Await(key, "", Duration()));
    return value.text;
  }
  Result<GceValue> Await(const std::string& key, const std::string& etag,
                         Duration longest) override {
    std::unique_lock lock(server_.mutex);
    if (!server_.trouble.ok()) return server_.trouble;
    if (!server_.values.contains(key)) return Status(Code::kNotFound, key);
    (void)server_.bell.wait_for(lock, std::chrono::milliseconds(longest.ms),
                                [&] { return std::to_string(server_.values[key].second) != etag; });
    const auto& value = server_.values[key];
    return GceValue{value.first, std::to_string(value.second)};
  }

 private:
  Server& server_;
};

class GcePlatformTest : public testing::Test {
 protected:
  GcePlatformTest() {
    request_.token = "token1";
    request_.ledger_id = "ledger1";
    request_.store_url = "gs://bucket";
    request_.job = "job1";
    request_.ask.place = {"gce", "p", "us-central1", "us-central1-a"};
    request_.launches = {7, 9};
    request_.binary_digest = std::string(64, 'b');
    request_.limit = Duration::Hours(24);
    request_.not_after = clock_.Wall() + Duration::Minutes(5);
    Save();
    server_.Set("instance/name", gce::InstanceName(request_, 1));
    server_.Set("instance/network-interfaces/0/ip", "10.128.0.9");
    server_.Set("instance/preempted", "FALSE");
    server_.Set("instance/maintenance-event", "NONE");
  }
  void Save() {
    EXPECT_TRUE(
        sys::WriteFileAtomic(dir_.path() + "/" + gce::kLaunchFile, cloud::EncodeLaunch(request_))
            .ok());
  }
  Result<std::unique_ptr<NodePlatform>> Make() {
    GcePlatformOptions options;
    options.dir = options.instance_dir = dir_.path();
    options.boot_id_file = dir_.path() + "/run/boot-id";
    options.metadata = std::make_unique<FakeGceMetadata>(server_);
    options.wait = Duration::Ms(20);
    options.pause = Duration::Ms(5);
    options.power_off = [](const std::string&) { return Status::Ok(); };
    return MakeGcePlatform(std::move(options), clock_);
  }
  // The first notice within some seconds.
  std::optional<Notice> Heard(NodePlatform& platform) {
    const MonoTime end = clock_.Mono() + Duration::Seconds(20);
    while (clock_.Mono() < end) {
      const auto notice = platform.PollNotice();
      if (notice.ok() && *notice) return *notice;
      usleep(2000);
    }
    return std::nullopt;
  }

  RealClock clock_;
  Server server_;
  LaunchRequest request_;
  sys::TempDir dir_ = *sys::TempDir::Make("gce-host");
};

TEST_F(GcePlatformTest, KnowsHowManyGpusItsTypePromises) {
  EXPECT_EQ((*Make())->identity().gpus, 0);
  server_.Set(std::string("instance/attributes/") + gce::kGpusKey, "8");
  EXPECT_EQ((*Make())->identity().gpus, 8);
}

TEST_F(GcePlatformTest, KnowsWhoItIs) {
  const auto platform = Make();
  ASSERT_TRUE(platform.ok()) << platform.status().ToString();
  EXPECT_EQ((*platform)->identity().index, 1);
  EXPECT_EQ((*platform)->identity().launch, 9);
  EXPECT_EQ((*platform)->identity().instance_id, gce::InstanceName(request_, 1));
  EXPECT_EQ((*platform)->identity().address, "10.128.0.9");
  const auto quiet = (*platform)->PollNotice();
  ASSERT_TRUE(quiet.ok());
  EXPECT_FALSE(*quiet);
  server_.Set("instance/name", "stoker-job1-0123456789abcdef-1");
  EXPECT_EQ(Make().status().code(), Code::kCorrupt);
}

TEST_F(GcePlatformTest, APreemptionIsHeardAtOnce) {
  auto platform = *Make();
  const WallTime before = clock_.Wall();
  server_.Set("instance/preempted", "TRUE");
  const auto notice = Heard(*platform);
  ASSERT_TRUE(notice);
  EXPECT_EQ(notice->action, "terminate");
  EXPECT_GE(notice->until, before + kClassicNotice);
  EXPECT_LE(notice->until, clock_.Wall() + kClassicNotice);
}

TEST_F(GcePlatformTest, OneThatIsWantedAgainIsStopped) {
  server_.Set(std::string("instance/attributes/") + gce::kRestartKey, "true");
  auto platform = *Make();
  server_.Set("instance/preempted", "TRUE");
  const auto notice = Heard(*platform);
  ASSERT_TRUE(notice);
  EXPECT_EQ(notice->action, "stop");
}

TEST_F(GcePlatformTest, ALongNoticeWasPromised) {
  server_.Set(std::string("instance/attributes/") + gce::kNoticeKey, "120");
  auto platform = *Make();
  const WallTime before = clock_.Wall();
  server_.Set("instance/preempted", "TRUE");
  const auto notice = Heard(*platform);
  ASSERT_TRUE(notice);
  EXPECT_GE(notice->until, before + Duration::Seconds(120));
}

TEST_F(GcePlatformTest, MaintenanceThatEndsItIsANotice) {
  auto platform = *Make();
  server_.Set("instance/maintenance-event", "TERMINATE_ON_HOST_MAINTENANCE");
  ASSERT_TRUE(Heard(*platform));
  server_.Set("instance/maintenance-event", "MIGRATE_ON_HOST_MAINTENANCE");
  const MonoTime end = clock_.Mono() + Duration::Seconds(20);
  while (clock_.Mono() < end && !*(*platform).PollAdvice()) usleep(2000);
  EXPECT_EQ((*platform->PollAdvice())->what, "migrate");
  EXPECT_FALSE(*platform->PollNotice()) << "it is not taken after all";
}

TEST_F(GcePlatformTest, AServerThatIsSickSaysNothing) {
  auto platform = *Make();
  {
    const std::lock_guard lock(server_.mutex);
    server_.trouble = Status(Code::kUnavailable, "503");
  }
  const MonoTime end = clock_.Mono() + Duration::Seconds(20);
  while (clock_.Mono() < end && platform->PollNotice().ok()) usleep(2000);
  EXPECT_TRUE(platform->PollNotice().status().Is(Code::kUnavailable));
  {
    const std::lock_guard lock(server_.mutex);
    server_.trouble = Status::Ok();
  }
  server_.Set("instance/preempted", "TRUE");
  EXPECT_TRUE(Heard(*platform));
}

TEST_F(GcePlatformTest, TheEndThatGoogleKeepsIsANoticeToo) {
  request_.not_after = clock_.Wall() - request_.limit * 7 + Duration::Minutes(10);
  Save();
  auto platform = *Make();
  const auto notice = Heard(*platform);
  ASSERT_TRUE(notice);
  EXPECT_EQ(notice->until.ms / 1000, gce::ArmedEnd(request_).ms / 1000);
}

}  // namespace
}  // namespace stoker

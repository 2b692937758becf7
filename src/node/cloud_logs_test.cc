// SPDX-License-Identifier: Apache-2.0
#include "node/cloud_logs.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "ledger/log/log_codec.h"
#include "sys/file.h"
#include "sys/real_clock.h"
#include "test/kit/memory_store.h"

namespace stoker::node {
namespace {

using Shipped = std::shared_ptr<std::atomic<int64_t>>;

// What a cloud has, whoever writes into it.
struct CloudHas {
  std::mutex mutex;
  std::vector<std::string> texts;  // "ATTEMPT: text"
  Status open, append;             // how these are answered
  bool lost = false;               // the next call is taken, and its answer is lost
};

class OneLog : public CloudLog {
 public:
  OneLog(CloudHas& has, int attempt) : has_(has), mark_(std::to_string(attempt) + ": ") {}
  const char* title() const override { return "the cloud"; }
  CloudLogLimits limits() const override { return {1 << 20, 26, 2, Duration::Hours(24)}; }
  Result<std::string> Prepare() override { return std::string(); }
  Result<std::string> Append(const std::vector<CloudLine>& lines) override {
    const std::lock_guard lock(has_.mutex);
    if (!has_.append.ok()) return has_.append;
    for (const CloudLine& line : lines) has_.texts.push_back(mark_ + line.text);
    if (std::exchange(has_.lost, false)) return Status(Code::kTimeout, "no answer");
    return std::string();
  }
  Result<bool> Stands(const std::vector<CloudLine>& lines) override {
    const std::lock_guard lock(has_.mutex);
    return !has_.texts.empty() && has_.texts.back() == mark_ + lines.back().text;
  }

 private:
  CloudHas& has_;
  const std::string mark_;
};

class CloudLogsTest : public testing::Test {
 protected:
  // As an agent that begins.
  std::unique_ptr<CloudLogs> Begin() {
    CloudLogsConfig config;
    config.job = "job";
    config.dir = folder_.path();
    config.open = [this](int attempt, int) -> Result<std::unique_ptr<CloudLog>> {
      const std::lock_guard lock(has_.mutex);
      if (!has_.open.ok()) return has_.open;
      return std::unique_ptr<CloudLog>(std::make_unique<OneLog>(has_, attempt));
    };
    config.say = [this](const std::string& line) {
      const std::lock_guard lock(has_.mutex);
      said_.push_back(line);
    };
    return std::make_unique<CloudLogs>(store_, clock_, std::move(config));
  }
  // Into the store, of which `shipped` is told.
  void Write(int attempt, const std::vector<std::string>& texts, const Shipped& shipped) {
    LogCompressor packed;
    for (const std::string& text : texts) {
      ASSERT_TRUE(packed.Add(RecordHeader(WallTime{1000}, LogStream::kOut, false)).ok());
      ASSERT_TRUE(packed.Add(text + "\n").ok());
    }
    const auto lines = static_cast<int64_t>(texts.size());
    const int64_t first = shipped->load();
    ASSERT_TRUE(store_.Put(SegmentKey("job", attempt, 0, first, lines), *packed.Finish()).ok());
    *shipped += lines;
  }
  static Shipped Nothing() { return std::make_shared<std::atomic<int64_t>>(1); }
  std::vector<std::string> There() {
    const std::lock_guard lock(has_.mutex);
    return has_.texts;
  }
  std::vector<std::string> Said() {
    const std::lock_guard lock(has_.mutex);
    return said_;
  }
  bool IsKnown(int attempt) const {
    return sys::FileExists(folder_.path() + "/cloud-log-" + std::to_string(attempt) + "-0");
  }

  MemoryStore store_;
  RealClock clock_;
  const sys::TempDir folder_ = *sys::TempDir::Make();
  CloudHas has_;
  std::vector<std::string> said_;
};

constexpr Duration kEnough = Duration::Seconds(60);

TEST_F(CloudLogsTest, OneAttemptAfterTheOtherAndEachLineOnce) {
  const Shipped first = Nothing(), second = Nothing();
  const auto logs = Begin();
  logs->Follow(1, 0, first);
  Write(1, {"a", "b", "c"}, first);
  logs->Follow(2, 0, second);
  Write(2, {"d"}, second);
  EXPECT_TRUE(logs->Finish(kEnough));
  EXPECT_EQ(There(), (std::vector<std::string>{"1: a", "1: b", "1: c", "2: d"}));
  EXPECT_EQ(logs->trouble(), "");
  EXPECT_TRUE(Said().empty());
}

// Killed before it sent anything, and started again only to leave.
TEST_F(CloudLogsTest, WhatAnAgentThatDiedHadLeftGoesAtTheEndOfTheNext) {
  const Shipped shipped = Nothing();
  Begin()->Follow(1, 0, shipped);
  Write(1, {"a", "b"}, shipped);
  const auto logs = Begin();
  EXPECT_TRUE(IsKnown(1));
  EXPECT_TRUE(logs->Finish(kEnough));
  EXPECT_EQ(There(), (std::vector<std::string>{"1: a", "1: b"}));
  EXPECT_FALSE(IsKnown(1)) << "it is over";
  EXPECT_TRUE(Begin()->Finish(kEnough));
  EXPECT_EQ(There().size(), 2U);
}

// Killed while a call was on its way that was taken.
TEST_F(CloudLogsTest, WhatWasTakenBeforeAnAgentDiedIsNotThereTwice) {
  const Shipped shipped = Nothing();
  has_.lost = true;
  {
    const auto logs = Begin();
    logs->Follow(1, 0, shipped);
    Write(1, {"a", "b", "c"}, shipped);
    for (int n = 0; n < 600 && There().empty(); ++n) usleep(100'000);
  }
  ASSERT_EQ(There(), (std::vector<std::string>{"1: a", "1: b"}));
  EXPECT_TRUE(Begin()->Finish(kEnough));
  EXPECT_EQ(There(), (std::vector<std::string>{"1: a", "1: b", "1: c"}));
}

TEST_F(CloudLogsTest, WhereNothingGetsThroughTheEndSaysSo) {
  const Shipped shipped = Nothing();
  has_.append = Status(Code::kDenied, "no right");
  const auto logs = Begin();
  logs->Follow(1, 0, shipped);
  Write(1, {"a"}, shipped);
  for (int n = 0; n < 600 && logs->trouble().empty(); ++n) usleep(100'000);
  EXPECT_FALSE(logs->Finish(Duration::Ms(100)));
  EXPECT_NE(logs->trouble().find("no right"), std::string::npos) << logs->trouble();
  EXPECT_EQ(Said().size(), 1U);
}

// Denied, it would be tried again a minute later.
TEST_F(CloudLogsTest, WhatMayBeWrittenByTheEndIs) {
  const Shipped shipped = Nothing();
  has_.append = Status(Code::kDenied, "no right");
  const auto logs = Begin();
  logs->Follow(1, 0, shipped);
  Write(1, {"a"}, shipped);
  for (int n = 0; n < 600 && logs->trouble().empty(); ++n) usleep(100'000);
  {
    const std::lock_guard lock(has_.mutex);
    has_.append = Status::Ok();
  }
  EXPECT_TRUE(logs->Finish(Duration::Seconds(40)));
  EXPECT_EQ(There(), std::vector<std::string>{"1: a"});
  EXPECT_EQ(logs->trouble(), "");
}

TEST_F(CloudLogsTest, WhatTheTimeWasTooShortForIsSaid) {
  const Shipped shipped = Nothing();
  const auto logs = Begin();
  logs->Follow(1, 0, shipped);
  *shipped = 2;  // of which the store lists nothing yet
  EXPECT_FALSE(logs->Finish(Duration::Ms(1)));
  EXPECT_NE(logs->trouble().find("'stoker logs' has them"), std::string::npos) << logs->trouble();
}

TEST_F(CloudLogsTest, ACloudThatCannotBeReachedIsSaidOnceAndTriedAgain) {
  const Shipped shipped = Nothing();
  has_.open = Status(Code::kUnavailable, "no credentials");
  const auto logs = Begin();
  logs->Follow(1, 0, shipped);
  Write(1, {"a"}, shipped);
  for (int n = 0; n < 600 && logs->trouble().empty(); ++n) usleep(100'000);
  EXPECT_NE(logs->trouble().find("no credentials"), std::string::npos);
  {
    const std::lock_guard lock(has_.mutex);
    has_.open = Status::Ok();
  }
  for (int n = 0; n < 600 && There().empty(); ++n) usleep(100'000);
  EXPECT_TRUE(logs->Finish(kEnough));
  EXPECT_EQ(There(), std::vector<std::string>{"1: a"});
  EXPECT_EQ(Said().size(), 1U);
}

}  // namespace
}  // namespace stoker::node

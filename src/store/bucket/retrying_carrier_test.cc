// SPDX-License-Identifier: Apache-2.0
#include "store/bucket/retrying_carrier.h"

#include <gtest/gtest.h>

#include <chrono>

namespace stoker::bucket {
namespace {

// A service that is away.
class Away : public Carrier {
 public:
  Result<HttpResponse> Call(const Request&) override {
    ++calls;
    return Status(Code::kUnavailable, "nobody there");
  }
  Result<std::unique_ptr<HttpAnswer>> Open(const Request& request) override {
    return Call(request).status();
  }
  std::string Describe(const Request&) const override { return ""; }
  WallTime ServiceNow() const override { return {}; }
  int calls = 0;
};

Request Ask() {
  Request request;
  request.method = "GET";
  request.key = "key";
  return request;
}

const RetryPolicy kSlow{8, Duration::Hours(1), Duration::Hours(1)};
const RetryPolicy kFast{8, Duration::Ms(1), Duration::Ms(1)};

TEST(RetryingCarrier, AsksUntilThePolicyEnds) {
  Away away;
  RetryingCarrier carrier(away, kFast, 1, {});
  EXPECT_EQ(carrier.Call(Ask()).code(), Code::kUnavailable);
  EXPECT_EQ(away.calls, 8);
}

TEST(RetryingCarrier, StopsInTheMiddleOfAWait) {
  Away away;
  int asked = 0;
  RetryingCarrier carrier(away, kSlow, 1, [&] { return ++asked == 3; });
  EXPECT_EQ(carrier.Call(Ask()).code(), Code::kUnavailable);
  EXPECT_EQ(away.calls, 1);
  EXPECT_EQ(asked, 3);
}

TEST(RetryingCarrier, AsksOnceWhereItIsStoppedAlready) {
  Away away;
  RetryingCarrier carrier(away, kFast, 1, [] { return true; });
  EXPECT_EQ(carrier.Open(Ask()).code(), Code::kUnavailable);
  EXPECT_EQ(away.calls, 1);
}

// "Retry-After: 20" is not waited for by who is told to stop.
TEST(Pause, StopsWaitingWhereItIsStopped) {
  Pause pause;
  pause.Note({503, {{"Retry-After", "20"}}, ""}, {});
  int asked = 0;
  const auto begun = std::chrono::steady_clock::now();
  pause.Await([&] { return ++asked == 3; });
  EXPECT_EQ(asked, 3);
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(15));
}

}  // namespace
}  // namespace stoker::bucket

// SPDX-License-Identifier: Apache-2.0
#include "provider/ec2/ec2_metadata.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <mutex>

#include "net/http_server.h"
#include "sys/real_clock.h"

namespace stoker {
namespace {

// A metadata service whose answers the test sets.
class Fake {
 public:
  Fake() {
    server_ = *HttpServer::Start({}, [this](const HttpRequest& request) {
      std::lock_guard<std::mutex> lock(mutex);
      ++requests;
      if (delay_ms > 0) usleep(static_cast<useconds_t>(delay_ms) * 1000);
      if (request.target == "/latest/api/token") {
        ++tokens;
        return HttpResponse{token_status, {}, "token-" + std::to_string(tokens)};
      }
      const std::string* token = FindHeader(request.headers, "X-aws-ec2-metadata-token");
      if (token == nullptr || *token != "token-" + std::to_string(tokens)) {
        return HttpResponse{401, {}, ""};
      }
      if (request.target == "/latest/meta-data/instance-id") return HttpResponse{200, {}, id};
      if (request.target == "/latest/meta-data/local-ipv4")
        return HttpResponse{200, {}, "10.0.0.7"};
      return HttpResponse{status, {}, body};
    });
  }
  std::unique_ptr<Ec2Metadata> Client(Duration timeout = Duration::Seconds(1)) {
    return *MakeEc2Metadata({"http://127.0.0.1:" + std::to_string(server_->port()), timeout},
                            clock);
  }

  std::mutex mutex;
  int requests = 0, tokens = 0, status = 404, token_status = 200, delay_ms = 0;
  std::string body, id = "i-0123456789";
  RealClock clock;

 private:
  std::unique_ptr<HttpServer> server_;
};

TEST(Ec2Metadata, NoticeComesAndGoes) {
  Fake fake;
  auto client = fake.Client();
  auto notice = client->PollNotice();
  ASSERT_TRUE(notice.ok()) << notice.status().ToString();
  EXPECT_FALSE(notice->has_value());
  fake.status = 200;
  fake.body = R"({"action": "stop", "time": "2020-04-24T17:11:44Z"})";
  notice = client->PollNotice();
  ASSERT_TRUE(notice.ok() && notice->has_value()) << notice.status().ToString();
  EXPECT_EQ((*notice)->action, "stop");
  EXPECT_EQ(FormatRfc3339((*notice)->until), "2020-04-24T17:11:44.000Z");
  fake.status = 404;
  EXPECT_FALSE(client->PollNotice().value().has_value());
  EXPECT_EQ(fake.tokens, 1) << "one token serves many polls";
}

TEST(Ec2Metadata, RenewsATokenThatIsVoid) {
  Fake fake;
  auto client = fake.Client();
  ASSERT_TRUE(client->PollNotice().ok());
  fake.tokens = 41;  // the service forgot
  EXPECT_TRUE(client->PollNotice().ok());
  EXPECT_EQ(fake.tokens, 42);
  fake.token_status = 403;
  fake.tokens = 7;
  EXPECT_EQ(client->PollNotice().code(), Code::kUnavailable);
}

TEST(Ec2Metadata, BadAnswersAreErrors) {
  Fake fake;
  fake.status = 200;
  auto client = fake.Client();
  for (const char* body :
       {"", "garbage", "[]", "{}", "null", "7", R"({"action":1,"time":2})", R"({"action":"stop"})",
        R"({"time":"2020-04-24T17:11:44Z"})", R"({"action":"stop","time":"soon"})",
        R"({"action":"stop","time":"2020-13-45T99:99:99Z"})",
        R"({"action":"stop","time":"9999-04-24T17:11:44Z"})",
        R"({"action":"stop","time":"0000-01-01T00:00:00Z"})",
        R"({"action":"","time":"2020-04-24T17:11:44Z"})",
        "{\"action\":\"a\\u001b[31m\",\"time\":\"2020-04-24T17:11:44Z\"}"}) {
    fake.body = body;
    const auto notice = client->PollNotice();
    EXPECT_FALSE(notice.ok()) << body;
  }
  fake.body = std::string(1 << 20, '[');
  const Status huge = client->PollNotice().status();
  EXPECT_EQ(huge.code(), Code::kNoSpace) << huge.ToString();
  fake.body = std::string(60'000, '[');
  EXPECT_FALSE(client->PollNotice().ok());
  fake.status = 503;
  EXPECT_EQ(client->PollNotice().code(), Code::kUnavailable);
  for (const std::string& id : {std::string(), std::string(5000, 'i'), std::string("i\n\x1b[2J")}) {
    fake.id = id;
    EXPECT_EQ(client->Identity().code(), Code::kCorrupt);
  }
}

TEST(Ec2Metadata, SlowAndAbsent) {
  Fake fake;
  fake.delay_ms = 400;
  EXPECT_EQ(fake.Client(Duration::Ms(100))->PollNotice().code(), Code::kTimeout);
  RealClock clock;
  auto absent = MakeEc2Metadata({"http://127.0.0.1:1", Duration::Ms(200)}, clock);
  EXPECT_EQ((*absent)->PollNotice().code(), Code::kUnavailable);
  EXPECT_EQ(MakeEc2Metadata({"nonsense", Duration::Ms(200)}, clock).code(), Code::kInvalid);
}

TEST(Ec2Metadata, Identity) {
  Fake fake;
  const auto identity = fake.Client()->Identity();
  ASSERT_TRUE(identity.ok()) << identity.status().ToString();
  EXPECT_EQ(identity->instance_id, "i-0123456789");
  EXPECT_EQ(identity->address, "10.0.0.7");
}

TEST(Ec2Metadata, Rebalance) {
  Fake fake;
  auto client = fake.Client();
  EXPECT_EQ(*client->PollRebalance(), std::nullopt);
  fake.status = 200;
  fake.body = R"({"noticeTime": "2020-10-16T19:18:24Z"})";
  EXPECT_EQ(*client->PollRebalance(), *ParseRfc3339("2020-10-16T19:18:24Z"));
  fake.body = "{}";
  EXPECT_EQ(client->PollRebalance().code(), Code::kCorrupt);
}

TEST(Ec2Metadata, MaintenanceThatIsPlanned) {
  Fake fake;
  auto client = fake.Client();
  EXPECT_EQ(*client->PollMaintenance(), std::nullopt);
  fake.status = 200;
  fake.body = "[]";
  EXPECT_EQ(*client->PollMaintenance(), std::nullopt);
  // As the user guide shows it.
  fake.body = R"([{"NotBefore": "21 Jan 2019 09:00:43 GMT", "Code": "system-reboot",
      "Description": "scheduled reboot", "EventId": "instance-event-0d59937288b749b32",
      "NotAfter": "21 Jan 2019 09:17:23 GMT", "State": "active"},
      {"NotBefore": "2 Jan 2019 09:00:43 GMT", "Code": "instance-stop", "State": "completed"}])";
  const auto planned = client->PollMaintenance();
  ASSERT_TRUE(planned.ok() && *planned) << planned.status().ToString();
  EXPECT_EQ((*planned)->action, "system-reboot");
  EXPECT_EQ((*planned)->until, *ParseRfc3339("2019-01-21T09:00:43Z"));
  for (const char* bad : {"{}", "x", R"([{"State": "active"}])",
                          R"([{"State": "active", "Code": "a b",
                               "NotBefore": "21 Jan 2019 09:00:43 GMT"}])"}) {
    fake.body = bad;
    EXPECT_EQ(client->PollMaintenance().code(), Code::kCorrupt) << bad;
  }
  EXPECT_EQ(*ParseEventTime("2 Jan 2019 09:00:43 GMT"), *ParseRfc3339("2019-01-02T09:00:43Z"));
}

TEST(Ec2Metadata, TheIndexWithinItsRequest) {
  Fake fake;
  auto client = fake.Client();
  fake.status = 200;
  fake.body = "3";
  EXPECT_EQ(*client->LaunchIndex(), 3);
  fake.body = "x";
  EXPECT_EQ(client->LaunchIndex().code(), Code::kCorrupt);
}

}  // namespace
}  // namespace stoker

// SPDX-License-Identifier: Apache-2.0
// What is asked of EC2 and what is made of its answers, over a wire that the test holds the other
// end of. The contract of the port, on an API that others wrote, is in test/ec2.
#include "provider/ec2/ec2_provider.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>

#include "base/text.h"
#include "net/percent.h"
#include "provider/ec2/api/aws_api.h"
#include "provider/ec2/ec2_options.h"

namespace stoker::ec2 {
namespace {

constexpr char kStart[] = "2026-11-24T09:00:00Z";
constexpr char kDate[] = "Tue, 24 Nov 2026 09:00:00 GMT";  // the same

struct Wire {
  struct Asked {
    std::string host;
    std::map<std::string, std::string> form;
    std::string signed_at;
  };
  std::deque<Result<HttpResponse>> answers;
  std::vector<Asked> asked;
  std::vector<std::string> regions = {"us-east-1"};
  std::vector<std::string> noted;
  std::vector<std::string> drills;
  int refused = 0;
  WallTime now = *ParseRfc3339(kStart);
  WallTime service_now = *ParseRfc3339(kStart);
  Duration store_ahead;
  bool store_told = false;  // the store's clock is known once it was asked
  std::shared_ptr<Cache> memory;

  void Answer(int status, const std::string& body) {
    answers.push_back(HttpResponse{status, {{"Date", kDate}}, body});
  }
  void Refuse(const std::string& code, const std::string& message = "words", int status = 400) {
    Answer(status, "<Response><Errors><Error><Code>" + code + "</Code><Message>" + message +
                       "</Message></Error></Errors></Response>");
  }
  void Lose() { answers.emplace_back(Status(Code::kTimeout, "nobody answers")); }

  Result<HttpResponse> Send(const HttpUrl& url, const HttpRequest& request) {
    Asked one;
    one.host = url.host;
    for (const std::string& pair : Split(request.body, '&')) {
      const size_t at = pair.find('=');
      one.form[PercentDecode(pair.substr(0, at))] = PercentDecode(pair.substr(at + 1));
    }
    if (const auto* date = FindHeader(request.headers, "x-amz-date")) one.signed_at = *date;
    asked.push_back(std::move(one));
    if (answers.empty()) return Status(Code::kInternal, "the test has no answer to this");
    auto next = std::move(answers.front());
    answers.pop_front();
    return next;
  }

  std::unique_ptr<Provider> Make() {
    AwsApiOptions options;
    options.credentials = [] { return Result<AwsCredentials>({"AKIA", "secret", "", {}, "test"}); };
    options.credentials_refused = [this] { ++refused; };
    options.url = [](const std::string& service, const std::string& region) {
      return Result<std::string>("http://" + service + "." + region + ".test");
    };
    options.now = [this] { return now; };
    options.memory = memory;
    options.retry.first = options.retry.longest = Duration::Ms(1);
    options.http = [this](const HttpUrl& url, const HttpRequest& request) {
      return Send(url, request);
    };
    cloud::Notes notes;
    notes.places = [this] {
      store_told = true;
      return Result<std::vector<std::string>>(regions);
    };
    notes.store_now = [this] {
      return store_told ? std::optional(now + store_ahead) : std::nullopt;
    };
    notes.note_place = [this](const std::string& region) {
      EXPECT_TRUE(asked.empty()) << "asked before the region was noted";
      noted.push_back(region);
      return Status::Ok();
    };
    notes.drill = [this](const std::string& job, const std::string& id, Duration lead) {
      drills.push_back(job + " " + id + " " + FormatDuration(lead));
      return Status::Ok();
    };
    return MakeEc2Provider(std::make_shared<AwsApi>(std::move(options)), notes);
  }
};

LaunchRequest Asking() {
  LaunchRequest request;
  request.token = "token1";
  request.ledger_id = "ledger1";
  request.store_url = "s3://bucket/p";
  request.job = "job1";
  request.ask = {{"ec2", "", "us-east-1", "us-east-1a"}, "g6.xlarge", "ami-1", "spot", {}, "{}"};
  request.launches = {3, 4};
  request.binary_digest = std::string(64, 'b');
  request.limit = Duration::Hours(24);
  request.not_after = *ParseRfc3339(kStart) + Duration::Minutes(10);
  return request;
}

std::string Machine(const std::string& id, int index, int state) {
  return "<item><instanceId>" + id + "</instanceId><instanceState><code>" + std::to_string(state) +
         "</code></instanceState><amiLaunchIndex>" + std::to_string(index) +
         "</amiLaunchIndex><tagSet><item><key>stoker-job</key><value>job1</value></item></tagSet>"
         "</item>";
}
std::string RunOf(const std::string& items) {
  return "<RunInstancesResponse><instancesSet>" + items + "</instancesSet></RunInstancesResponse>";
}
std::string ListOf(const std::string& items, const std::string& next = "") {
  return "<DescribeInstancesResponse><reservationSet><item><instancesSet>" + items +
         "</instancesSet></item></reservationSet><nextToken>" + next +
         "</nextToken></DescribeInstancesResponse>";
}

TEST(Ec2Provider, AllMachinesOfARequestInOneCall) {
  Wire wire;
  auto ec2 = wire.Make();
  wire.Answer(200, RunOf(Machine("i-b", 1, 0) + Machine("i-a", 0, 0)));
  const auto ids = ec2->Launch(Asking());
  ASSERT_TRUE(ids.ok()) << ids.status().ToString();
  EXPECT_EQ(*ids, (std::vector<std::string>{"i-a", "i-b"}));
  ASSERT_EQ(wire.asked.size(), 1U);
  EXPECT_EQ(wire.asked[0].host, "ec2.us-east-1.test");
  EXPECT_EQ(wire.asked[0].form["Action"], "RunInstances");
  EXPECT_EQ(wire.asked[0].form["ClientToken"], "token1");
  EXPECT_EQ(wire.noted, (std::vector<std::string>{"us-east-1"}));
}

TEST(Ec2Provider, ALostAnswerIsNone) {
  Wire wire;
  auto ec2 = wire.Make();
  wire.Lose();
  const auto lost = ec2->Launch(Asking());
  EXPECT_FALSE(lost.ok());
  EXPECT_FALSE(lost.refusal());
  EXPECT_EQ(lost.code(), Code::kTimeout);
  EXPECT_EQ(wire.asked.size(), 1U) << "what may have taken effect is for the record to send again";
  wire.Refuse("InternalError", "An internal error has occurred", 500);
  EXPECT_FALSE(ec2->Launch(Asking()).refusal());
}

TEST(Ec2Provider, ARefusalIsTold) {
  Wire wire;
  auto ec2 = wire.Make();
  wire.Refuse("InsufficientInstanceCapacity", "no room", 500);
  const auto answer = ec2->Launch(Asking());
  ASSERT_TRUE(answer.refusal());
  EXPECT_EQ(answer.refusal()->what, RefusalClass::kCapacity);
  EXPECT_EQ(answer.refusal()->scope, RefusalScope::kZone);
}

TEST(Ec2Provider, ATokenThatIsKnownIsLookedUp) {
  Wire wire;
  auto ec2 = wire.Make();
  for (const char* code : {"IdempotentParameterMismatch", "IdempotentInstanceTerminated"}) {
    wire.Refuse(code);
    wire.Answer(200, ListOf(Machine("i-b", 1, 16) + Machine("i-a", 0, 48)));
    const auto ids = ec2->Launch(Asking());
    ASSERT_TRUE(ids.ok()) << ids.status().ToString();
    EXPECT_EQ(*ids, (std::vector<std::string>{"", "i-b"}));
    auto& form = wire.asked.back().form;
    EXPECT_EQ(form["Filter.3.Name"], "tag:stoker-request");
    EXPECT_EQ(form["Filter.3.Value.1"], "token1");
    wire.Refuse(code);
    wire.Answer(200, ListOf(Machine("i-a", 0, 48)));
    const auto over = ec2->Launch(Asking());
    ASSERT_TRUE(over.refusal());
    EXPECT_EQ(over.refusal()->what, RefusalClass::kOver);
  }
}

TEST(Ec2Provider, MachinesThatHaveComeAndGone) {
  Wire wire;
  auto ec2 = wire.Make();
  wire.Answer(200, RunOf(Machine("i-b", 1, 48) + Machine("i-a", 0, 48)));
  const auto over = ec2->Launch(Asking());
  ASSERT_TRUE(over.refusal());
  EXPECT_EQ(over.refusal()->what, RefusalClass::kOver);
}

TEST(Ec2Provider, TheTimeToSendIsOfTheStoresClock) {
  // Ten minutes behind EC2's, a request just made would be over for EC2.
  for (const int minutes : {-12, 12}) {
    Wire wire;
    wire.store_ahead = Duration::Minutes(minutes);
    auto ec2 = wire.Make();
    LaunchRequest request = Asking();
    request.not_after = wire.now + wire.store_ahead + Duration::Minutes(1);
    wire.Answer(200, RunOf(Machine("i-a", 0, 0) + Machine("i-b", 1, 0)));
    const auto sent = ec2->Launch(request);
    EXPECT_TRUE(sent.ok()) << minutes << ": " << sent.status().ToString();
    request.not_after = wire.now + wire.store_ahead - Duration::Minutes(1);
    const auto late = ec2->Launch(request);
    ASSERT_TRUE(late.refusal()) << minutes;
    EXPECT_EQ(late.refusal()->what, RefusalClass::kOver);
    EXPECT_EQ(wire.asked.size(), 1U);
  }
}

TEST(Ec2Provider, NothingIsSentThatCannotBe) {
  Wire wire;
  auto ec2 = wire.Make();
  const auto refused = [&](const LaunchRequest& request) {
    const auto answer = ec2->Launch(request);
    return answer.refusal() ? answer.refusal()->what : RefusalClass::kUnanswered;
  };
  LaunchRequest late = Asking();
  late.not_after = wire.now - Duration::Minutes(1);
  EXPECT_EQ(refused(late), RefusalClass::kOver);
  LaunchRequest bad = Asking();
  bad.ask.place.region = "../x";
  EXPECT_EQ(refused(bad), RefusalClass::kInvalid);
  bad = Asking();
  bad.ask.options = "cpus=2";
  EXPECT_EQ(refused(bad), RefusalClass::kInvalid);
  bad = Asking();
  bad.store_url = "/folder";
  EXPECT_EQ(refused(bad), RefusalClass::kInvalid);
  EXPECT_TRUE(wire.asked.empty());
  EXPECT_TRUE(wire.noted.empty());
}

TEST(Ec2Provider, TheServicesClockCounts) {
  Wire wire;
  auto ec2 = wire.Make();
  wire.now = wire.service_now - Duration::Minutes(20);
  wire.Refuse("SignatureDoesNotMatch", "Signature expired: 20261124T084000Z is now earlier than");
  wire.Answer(200, RunOf(Machine("i-a", 0, 0)));
  EXPECT_TRUE(ec2->Launch(Asking()).ok());
  ASSERT_EQ(wire.asked.size(), 2U);
  EXPECT_EQ(wire.asked[0].signed_at, "20261124T084000Z");
  EXPECT_EQ(wire.asked[1].signed_at, "20261124T090000Z");
}

TEST(Ec2Provider, KeysThatHaveExpiredAreAskedForAgain) {
  Wire wire;
  auto ec2 = wire.Make();
  wire.Refuse("ExpiredToken", "The security token included in the request is expired", 403);
  wire.Answer(200, RunOf(Machine("i-a", 0, 0)));
  EXPECT_TRUE(ec2->Launch(Asking()).ok());
  EXPECT_EQ(wire.refused, 1);
}

TEST(Ec2Provider, AListIsOfAllPagesOfEachRegionThatAnswers) {
  Wire wire;
  auto ec2 = wire.Make();
  wire.regions = {"eu-west-1", "us-east-1"};
  wire.Answer(200, ListOf(Machine("i-a", 0, 16), "more"));
  wire.Answer(200, ListOf(Machine("i-b", 1, 16)));
  wire.Answer(200, ListOf(Machine("i-c", 0, 16)));
  const auto all = ec2->Describe("ledger1", "job1");
  ASSERT_TRUE(all.ok());
  EXPECT_EQ(all->size(), 3U);
  EXPECT_EQ(all->back().place.region, "us-east-1");
  EXPECT_EQ(wire.asked[1].form["NextToken"], "more");
  EXPECT_EQ(wire.asked[2].host, "ec2.us-east-1.test");
  EXPECT_EQ(wire.asked[0].form["Filter.1.Value.1"], "ledger1");
  EXPECT_EQ(wire.asked[0].form["Filter.2.Value.1"], "job1");
  // Half a list says nothing about what it leaves out; that region is not known, and the other is.
  wire.Answer(200, ListOf(Machine("i-a", 0, 16), "more"));
  wire.Refuse("UnauthorizedOperation", "no", 403);
  wire.Answer(200, ListOf(Machine("i-c", 0, 16)));
  const auto part = ec2->Describe("ledger1", "");
  ASSERT_TRUE(part.ok());
  ASSERT_EQ(part->size(), 1U);
  EXPECT_EQ(part->front().id, "i-c");
  ASSERT_EQ(part->unheard.size(), 1U);
  EXPECT_EQ(part->unheard[0].place.region, "eu-west-1");
  EXPECT_EQ(part->Whole().code(), Code::kDenied);
  wire.Refuse("UnauthorizedOperation", "no", 403);
  wire.Refuse("UnauthorizedOperation", "no", 403);
  EXPECT_EQ(ec2->Describe("ledger1", "").code(), Code::kDenied) << "nobody answers";
}

// Nothing is known to be gone while a region in which it may be does not answer.
TEST(Ec2Provider, WhatMayBeWhereNobodyAnswersIsNotGone) {
  Wire wire;
  auto ec2 = wire.Make();
  wire.regions = {"eu-west-1", "us-east-1"};
  wire.Refuse("UnauthorizedOperation", "no", 403);
  wire.Answer(200, ListOf(""));
  EXPECT_EQ(ec2->Terminate("i-0123456789abcdef0").code(), Code::kDenied);
}

// What was looked up for the request a while ago may have been deleted since.
TEST(Ec2Provider, WhatEc2DoesNotKnowIsLookedUpAnew) {
  struct Kept : Cache {
    std::optional<std::string> Get(const std::string&) override { return std::nullopt; }
    void Keep(const std::string&, std::string_view) override {}
    void KeepOnly(const std::set<std::string>& names) override { dropped += names.empty(); }
    int dropped = 0;
  };
  const auto kept = std::make_shared<Kept>();
  Wire wire;
  wire.memory = kept;
  auto ec2 = wire.Make();
  wire.Refuse("InsufficientInstanceCapacity");
  EXPECT_FALSE(ec2->Launch(Asking()).ok());
  EXPECT_EQ(kept->dropped, 0);
  wire.Refuse("InvalidGroup.NotFound");
  EXPECT_FALSE(ec2->Launch(Asking()).ok());
  wire.Refuse("InvalidSubnetID.NotFound");
  EXPECT_FALSE(ec2->Launch(Asking()).ok());
  EXPECT_EQ(kept->dropped, 2);
}

TEST(Ec2Provider, WhatOnlyReadsIsAskedAgain) {
  Wire wire;
  auto ec2 = wire.Make();
  wire.Refuse("RequestLimitExceeded", "slow down", 503);
  wire.Lose();
  wire.Answer(200, ListOf(Machine("i-a", 0, 16)));
  EXPECT_TRUE(ec2->Describe("ledger1", "").ok());
  EXPECT_EQ(wire.asked.size(), 3U);
  for (int i = 0; i < 10; ++i) wire.Refuse("RequestLimitExceeded", "slow down", 503);
  EXPECT_EQ(ec2->Describe("ledger1", "").code(), Code::kBusy);
  EXPECT_EQ(wire.asked.size(), 7U);
}

TEST(Ec2Provider, OnlyWhatIsALedgersIsEnded) {
  Wire wire;
  auto ec2 = wire.Make();
  EXPECT_EQ(ec2->Terminate("vol-1").code(), Code::kInvalid);
  EXPECT_EQ(ec2->Terminate("i-1 -x").code(), Code::kInvalid);
  wire.Answer(200, ListOf(""));
  EXPECT_TRUE(ec2->Terminate("i-gone").ok());
  EXPECT_EQ(wire.asked.back().form["Filter.2.Value.1"], "stoker-ledger");
  wire.Answer(200, ListOf(Machine("i-a", 0, 16)));
  wire.Answer(200, "<TerminateInstancesResponse/>");
  EXPECT_TRUE(ec2->Terminate("i-a").ok());
  EXPECT_EQ(wire.asked.back().form["Action"], "TerminateInstances");
  EXPECT_EQ(wire.asked.back().form["InstanceId.1"], "i-a");
  wire.Answer(200, ListOf(Machine("i-a", 0, 48)));
  wire.Refuse("InvalidInstanceID.NotFound");
  EXPECT_TRUE(ec2->Terminate("i-a").ok());
}

TEST(Ec2Provider, StartedAgain) {
  Wire wire;
  auto ec2 = wire.Make();
  wire.Answer(200, ListOf(Machine("i-a", 0, 80)));
  wire.Answer(200, "<StartInstancesResponse/>");
  EXPECT_TRUE(ec2->Start("i-a").ok());
  EXPECT_EQ(wire.asked.back().form["Action"], "StartInstances");
  wire.Answer(200, ListOf(Machine("i-a", 0, 64)));
  EXPECT_EQ(ec2->Start("i-a").code(), Code::kBusy);
  wire.Answer(200, ListOf(Machine("i-a", 0, 48)));
  EXPECT_EQ(ec2->Start("i-a").code(), Code::kNotFound);
  wire.Answer(200, ListOf(""));
  EXPECT_EQ(ec2->Start("i-a").code(), Code::kNotFound);
}

TEST(Ec2Provider, ADrillIsAskedOfTheMachinesAgent) {
  Wire wire;
  auto ec2 = wire.Make();
  wire.Answer(200, ListOf(Machine("i-a", 0, 16)));
  EXPECT_TRUE(ec2->Interrupt("i-a", Duration::Minutes(2)).ok());
  EXPECT_EQ(wire.drills, (std::vector<std::string>{"job1 i-a 2m"}));
  wire.Answer(200, ListOf(Machine("i-a", 0, 80)));
  EXPECT_EQ(ec2->Interrupt("i-a", Duration::Minutes(2)).code(), Code::kNotFound);
}

}  // namespace
}  // namespace stoker::ec2

// SPDX-License-Identifier: Apache-2.0
// What is kept of answers, and for whom and how long. What is sent and how it is signed is tried
// with the provider.
#include "provider/ec2/api/aws_api.h"

#include <gtest/gtest.h>

#include <map>

namespace stoker::ec2 {
namespace {

class Drawer : public Cache {
 public:
  std::optional<std::string> Get(const std::string& name) override {
    const auto found = kept.find(name);
    return found == kept.end() ? std::nullopt : std::optional(found->second);
  }
  void Keep(const std::string& name, std::string_view data) override { kept[name] = data; }
  void KeepOnly(const std::set<std::string>& names) override {
    std::erase_if(kept, [&](const auto& each) { return !names.contains(each.first); });
  }
  std::map<std::string, std::string> kept;
};

struct World {
  std::shared_ptr<Drawer> drawer = std::make_shared<Drawer>();
  std::string keys = "AKIA1";
  WallTime now{1'764'000'000'000};
  int asked = 0;
  int status = 200;
  std::string refusal;  // in an answer's place

  AwsApi Make() {
    AwsApiOptions options;
    options.credentials = [this] {
      return Result<AwsCredentials>({keys, "secret", "", std::nullopt, "test"});
    };
    options.url = [](const std::string& service, const std::string& region) {
      return Result<std::string>("http://" + service + "." + region + ".test");
    };
    options.now = [this] { return now; };
    options.retry.tries = 1;
    options.memory = drawer;
    options.http = [this](const HttpUrl&, const HttpRequest&) {
      const std::string answer = "answer " + std::to_string(++asked);
      return Result<HttpResponse>(HttpResponse{status, {}, refusal.empty() ? answer : refusal});
    };
    return AwsApi(std::move(options));
  }
};

Call Question(const std::string& region = "us-east-1") {
  Call call{"ec2", region, "DescribeVpcs"};
  call.good_for = Duration::Minutes(10);
  return call;
}

std::string Told(AwsApi& api, const Call& call = Question()) { return api.Read(call).value_or(""); }

TEST(AwsMemory, AnAnswerWillDoForAWhile) {
  World world;
  AwsApi first = world.Make();
  EXPECT_EQ(Told(first), "answer 1");
  AwsApi api = world.Make();  // as another process
  EXPECT_EQ(Told(api), "answer 1");
  world.now = world.now + Duration::Minutes(10);
  EXPECT_EQ(Told(api), "answer 1");
  EXPECT_EQ(Told(api, Question("us-west-2")), "answer 2") << "another question";
  world.now = world.now + Duration::Ms(1);
  EXPECT_EQ(Told(api), "answer 3");
  world.now = world.now - Duration::Hours(1);
  EXPECT_EQ(Told(api), "answer 4") << "this machine's clock was set back";
}

TEST(AwsMemory, ThatNobodyMayAskIsKeptWhereItIsOnlyAHelp) {
  World world;
  world.status = 403;
  world.refusal = "<ErrorResponse><Error><Code>AccessDenied</Code></Error></ErrorResponse>";
  AwsApi api = world.Make();
  Call call = Question();
  EXPECT_EQ(api.Read(call).code(), Code::kDenied);
  EXPECT_EQ(api.Read(call).code(), Code::kDenied);
  EXPECT_EQ(world.asked, 2) << "a no is asked for anew";
  call.keep_denial = true;
  EXPECT_EQ(api.Read(call).code(), Code::kDenied);
  EXPECT_EQ(api.Read(call).value_or("?"), "");
  EXPECT_EQ(world.asked, 3);
  api.Forget();
  EXPECT_EQ(api.Read(call).code(), Code::kDenied) << "by doctor it is tried again";
}

TEST(AwsMemory, OnlyWhoAskedIsTold) {
  World world;
  AwsApi api = world.Make();
  EXPECT_EQ(Told(api), "answer 1");
  world.keys = "AKIA2";
  EXPECT_EQ(Told(api), "answer 2");
  EXPECT_EQ(world.drawer->kept.size(), 1U) << "what belonged to old keys is replaced";
}

TEST(AwsMemory, WhatMustBeNewIsAskedAndKept) {
  World world;
  AwsApi api = world.Make();
  Call plain = Question();
  plain.good_for = {};
  EXPECT_EQ(Told(api, plain), "answer 1");
  EXPECT_TRUE(world.drawer->kept.empty());
  EXPECT_EQ(Told(api), "answer 2");
  Call anew = Question();
  anew.anew = true;
  EXPECT_EQ(Told(api, anew), "answer 3");
  EXPECT_EQ(Told(api), "answer 3");
}

TEST(AwsMemory, ANoIsNeverKept) {
  World world;
  AwsApi api = world.Make();
  world.status = 403;
  EXPECT_FALSE(api.Read(Question()).ok());
  world.status = 200;
  EXPECT_EQ(Told(api), "answer 2");
  EXPECT_FALSE(api.Forget()) << "nothing was told from memory";
  EXPECT_EQ(Told(api), "answer 3") << "and nothing is, from then on";
  AwsApi other = world.Make();
  EXPECT_EQ(Told(other), "answer 3");
  EXPECT_TRUE(other.Forget());
  EXPECT_EQ(Told(other), "answer 4");
}

TEST(AwsMemory, WhatIsNotKnownAnyMoreIsForgottenForAll) {
  World world;
  AwsApi api = world.Make();
  EXPECT_EQ(Told(api), "answer 1");
  api.DropKept();
  AwsApi other = world.Make();
  EXPECT_EQ(Told(other), "answer 2");
}

TEST(AwsMemory, WhatIsDamagedIsNoAnswer) {
  for (const std::string& damaged : {std::string(), std::string("\n"), std::string("1 2 3\nx"),
                                     std::string("1764000000000 AKIA1\nanswer")}) {
    World world;
    AwsApi api = world.Make();
    EXPECT_EQ(Told(api), "answer 1");
    world.drawer->kept.begin()->second = damaged;
    EXPECT_EQ(Told(api), "answer 2") << damaged;
    world.drawer->kept.begin()->second.back() = '!';
    EXPECT_EQ(Told(api), "answer 3");
  }
}

}  // namespace
}  // namespace stoker::ec2

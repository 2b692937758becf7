// SPDX-License-Identifier: Apache-2.0
#include "aws/credential_source.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>

#include "test/kit/aws_environment.h"

namespace stoker {
namespace {

constexpr char kCall[] = "GET http://169.254.170.2 /c";

class Source : public testing::Test {
 protected:
  void SetUp() override { aws_.variables["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"] = "/c"; }
  void Give(const std::string& key, Duration life) {
    aws_.answers[kCall] = {200, {}, JsonAnswer(key, FormatRfc3339(aws_.now + life))};
  }
  std::string Key(AwsCredentialSource& source) {
    const auto got = source.Get();
    return got.ok() ? got->access_key : got.status().ToString();
  }
  size_t asked() const { return aws_.asked.size(); }

  FakeAws aws_;
};

TEST_F(Source, LooksOnceWhileThereIsTime) {
  Give("A", Duration::Hours(1));
  AwsCredentialSource source(aws_.Environment());
  EXPECT_EQ(Key(source), "A");
  aws_.now = aws_.now + Duration::Minutes(45);
  EXPECT_EQ(Key(source), "A");
  EXPECT_EQ(asked(), 1u);
  aws_.now = aws_.now + Duration::Seconds(1);
  Give("B", Duration::Hours(1));
  EXPECT_EQ(Key(source), "B");
  EXPECT_EQ(asked(), 2u);
}

TEST_F(Source, KeepsWhatLastsWhenRenewalFails) {
  Give("A", Duration::Minutes(14));
  AwsCredentialSource source(aws_.Environment());
  EXPECT_EQ(Key(source), "A");
  aws_.answers.clear();
  EXPECT_EQ(Key(source), "A");
  EXPECT_EQ(Key(source), "A");
  EXPECT_EQ(asked(), 2u);  // not at every call
  aws_.now = aws_.now + Duration::Seconds(61);
  EXPECT_EQ(Key(source), "A");
  EXPECT_EQ(asked(), 3u);
  aws_.now = aws_.now + Duration::Minutes(12);
  EXPECT_EQ(Key(source), "A");
  aws_.now = aws_.now + Duration::Minutes(1);
  const auto over = source.Get();
  EXPECT_EQ(over.code(), Code::kUnavailable);
  EXPECT_NE(over.status().message().find("could not be renewed"), std::string::npos);
  Give("B", Duration::Hours(1));
  EXPECT_EQ(Key(source), "B");
}

TEST_F(Source, AnErrorAfterSuccessIsNotTheEnd) {
  Give("A", Duration::Minutes(1));
  AwsCredentialSource source(aws_.Environment());
  EXPECT_EQ(Key(source), "A");
  aws_.variables.clear();
  aws_.now = aws_.now + Duration::Minutes(2);
  EXPECT_TRUE(source.Get().status().transient());
}

TEST_F(Source, SaysEverythingItTried) {
  aws_.variables.clear();
  AwsCredentialSource source(aws_.Environment());
  const auto got = source.Get();
  EXPECT_EQ(got.code(), Code::kDenied);
  for (const char* part :
       {"AWS_ACCESS_KEY_ID is not set", "AWS_WEB_IDENTITY_TOKEN_FILE",
        "/home/u/.aws/credentials does not exist", "/home/u/.aws/config does not exist",
        "no container service", "no EC2 instance role", "aws configure"}) {
    EXPECT_NE(got.status().ToString().find(part), std::string::npos) << part;
  }
}

TEST_F(Source, RefusesWhatIsOverAlready) {
  Give("A", Duration::Seconds(-1));
  AwsCredentialSource source(aws_.Environment());
  EXPECT_EQ(source.Get().code(), Code::kDenied);
  EXPECT_NE(Key(source).find("clock"), std::string::npos);
}

TEST_F(Source, LooksAgainForWhatWasRejected) {
  Give("A", Duration::Hours(1));
  AwsCredentialSource source(aws_.Environment());
  const auto first = source.Get();
  ASSERT_TRUE(first.ok());
  Give("B", Duration::Hours(1));
  source.Reject(*first);
  EXPECT_EQ(Key(source), "B");
  source.Reject(*first);  // long gone
  EXPECT_EQ(Key(source), "B");
  EXPECT_EQ(asked(), 2u);
}

TEST_F(Source, AfterARefusalNothingNewIsNotTheEnd) {
  Give("A", Duration::Hours(1));
  AwsCredentialSource source(aws_.Environment());
  const auto first = source.Get();
  ASSERT_TRUE(first.ok());
  aws_.answers[kCall] = {404, {}, ""};
  source.Reject(*first);
  const auto refused = source.Get();
  EXPECT_EQ(refused.code(), Code::kUnavailable);
  EXPECT_NE(refused.status().message().find("were refused by the service and could not be renewed"),
            std::string::npos);
  // Requests do not each look anew.
  EXPECT_EQ(source.Get().code(), Code::kUnavailable);
  EXPECT_EQ(asked(), 2u);
  aws_.now = aws_.now + Duration::Seconds(11);
  EXPECT_EQ(source.Get().code(), Code::kUnavailable);
  EXPECT_EQ(asked(), 3u);
  Give("B", Duration::Hours(1));
  aws_.now = aws_.now + Duration::Seconds(11);
  EXPECT_EQ(Key(source), "B");
}

// The pause after a renewal that failed is not one for what was refused in the meantime.
TEST_F(Source, ARefusalIsLookedIntoAtOnce) {
  Give("A", Duration::Minutes(14));
  AwsCredentialSource source(aws_.Environment());
  const auto first = source.Get();
  aws_.answers.clear();
  EXPECT_EQ(Key(source), "A");
  source.Reject(*first);
  Give("B", Duration::Hours(1));
  EXPECT_EQ(Key(source), "B");
}

// Many requests are refused at once, with the same keys or with those that came after them: whoever
// waits for new ones gets some, also when these are rejected before it wakes.
TEST_F(Source, ManyRejectWhatManyWaitFor) {
  AwsEnvironment environment = aws_.Environment();
  std::atomic<int> issued = 0;
  const std::string until = FormatRfc3339(aws_.now + Duration::Hours(1));
  environment.http = [&](const std::string&, const HttpRequest&) -> Result<HttpResponse> {
    return HttpResponse{200, {}, JsonAnswer("K" + std::to_string(++issued), until)};
  };
  AwsCredentialSource source(environment);
  std::atomic<int> failed = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 2000; ++round) {
        const auto got = source.Get();
        if (got.ok()) source.Reject(*got);
        if (!got.ok()) ++failed;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failed, 0);
  EXPECT_GT(issued, 100);
}

TEST_F(Source, OneThreadLooksForAll) {
  Give("A", Duration::Hours(1));
  AwsEnvironment environment = aws_.Environment();
  std::promise<void> go;
  const std::shared_future<void> gone(go.get_future());
  environment.http = [this, gone](const std::string& base, const HttpRequest& request) {
    gone.wait();
    return aws_.Send(base, request);
  };
  AwsCredentialSource source(environment);
  std::atomic<int> right = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] { right += Key(source) == "A"; });
  }
  go.set_value();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 8);
  EXPECT_EQ(asked(), 1u);
}

TEST_F(Source, WhileOneRenewsOthersGoOn) {
  Give("A", Duration::Minutes(12));
  AwsEnvironment environment = aws_.Environment();
  std::atomic<bool> hold = false;
  std::promise<void> begun, go;
  environment.http = [&](const std::string& base, const HttpRequest& request) {
    if (hold) {
      begun.set_value();
      go.get_future().wait();
    }
    return aws_.Send(base, request);
  };
  AwsCredentialSource source(environment);
  EXPECT_EQ(Key(source), "A");
  Give("B", Duration::Hours(1));
  hold = true;
  std::thread renews([&] { EXPECT_EQ(Key(source), "B"); });
  begun.get_future().wait();
  EXPECT_EQ(Key(source), "A");  // does not wait
  go.set_value();
  renews.join();
  EXPECT_EQ(Key(source), "B");
}

}  // namespace
}  // namespace stoker

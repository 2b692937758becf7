// SPDX-License-Identifier: Apache-2.0
#include "node/env/engine/patience.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "port/process_runner.h"

namespace stoker::node {
namespace {

class CountedClock : public Clock {
 public:
  MonoTime Mono() override { return {now_ += each.ms}; }
  WallTime Wall() override { return {now_}; }
  void Pass(Duration time) { now_ += time.ms; }
  Duration each = Duration::Seconds(1);  // look

 private:
  int64_t now_ = 0;
};

class NoRunner : public ProcessRunner {
 public:
  Result<std::unique_ptr<Task>> Start(const TaskCommand&, LogSink&) override {
    return Status(Code::kInternal, "nothing runs here");
  }
};

class PatienceTest : public ::testing::Test {
 protected:
  Status Await(Patience& patience, const std::function<Status()>& ask) {
    return patience.Await(
        step_, [this](const std::string& line) { said_.push_back(line); }, ask);
  }
  // Answers `answers`, the last one again and again.
  std::function<Status()> Answering(std::vector<Status> answers) {
    return [this, answers] {
      const size_t at = std::min(static_cast<size_t>(asked_++), answers.size() - 1);
      return answers[at];
    };
  }
  CountedClock clock_;
  NoRunner runner_;
  ShellStep step_{runner_};
  Patience engine_{kEnginePatience, clock_}, registry_{kRegistryPatience, clock_};
  std::vector<std::string> said_;
  int asked_ = 0;
  const Status away_{Code::kUnavailable, "its daemon is away", "Start it"};
  const Status often_{Code::kBusy, "asked too often"};
};

TEST_F(PatienceTest, WhatPassesIsAskedAgainAndSaidOnce) {
  EXPECT_TRUE(Await(engine_, Answering({away_, away_, away_, Status::Ok()})).ok());
  EXPECT_EQ(asked_, 4);
  EXPECT_EQ(said_, std::vector<std::string>{"its daemon is away; asked again, for 1m at most"});
}

TEST_F(PatienceTest, WhatStaysEndsItAtOnce) {
  const Status stays(Code::kInvalid, "no such image");
  EXPECT_EQ(Await(registry_, Answering({often_, stays})).message(), "no such image");
  EXPECT_EQ(asked_, 2);
  EXPECT_TRUE(Await(registry_, Answering({away_})).Is(Code::kUnavailable)) << "not a registry's";
}

TEST_F(PatienceTest, ItEndsInTheStatedTimeWithWords) {
  clock_.each = Duration::Seconds(20);
  const Status end = Await(registry_, Answering({often_}));
  EXPECT_TRUE(end.Is(Code::kInvalid));
  EXPECT_TRUE(end.message().starts_with("asked too often; so for 10m")) << end.message();
  EXPECT_EQ(said_.size(), 1U);
  const int first = asked_;
  EXPECT_GT(first, 5);
  EXPECT_TRUE(Await(registry_, Answering({often_})).Is(Code::kInvalid));
  EXPECT_EQ(asked_, first + 1) << "its time is over";
  registry_.Reset();
  EXPECT_TRUE(Await(registry_, Answering({often_, Status::Ok()})).ok());
}

TEST_F(PatienceTest, AnAnswerThatTookAllItsTimeCountsFromItsQuestion) {
  const Status end = Await(engine_, [this] {
    clock_.Pass(Duration::Minutes(5));
    return Status(Code::kTimeout, "podman run: no answer in 5m");
  });
  EXPECT_TRUE(end.Is(Code::kInvalid));
  EXPECT_EQ(said_.size(), 0U);
  engine_.Reset();
  EXPECT_TRUE(Await(engine_,
                    [this] {
                      clock_.Pass(Duration::Minutes(5));
                      return asked_++ == 0 ? away_ : Status::Ok();
                    })
                  .ok())
      << "a daemon that went away in the end may come back";
}

TEST_F(PatienceTest, ACancelIsHeardWhileItPauses) {
  const Status end = Await(registry_, [this] {
    step_.Cancel();
    return often_;
  });
  EXPECT_TRUE(end.Is(Code::kCancelled));
  EXPECT_TRUE(Await(registry_, Answering({Status::Ok()})).Is(Code::kCancelled));
  EXPECT_EQ(asked_, 0);
}

}  // namespace
}  // namespace stoker::node

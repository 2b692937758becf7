// SPDX-License-Identifier: Apache-2.0
// What is cleared away of requests that Slurm refused, and what is not.
#include "provider/slurm/slurm_folder.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "sys/file.h"
#include "sys/real_clock.h"

namespace stoker {
namespace {

class SlurmRequests : public testing::Test {
 protected:
  SlurmRequests() : dir_(sys::TempDir::Make("slurm").value()), state_(dir_.path()) {}

  LaunchRequest Make(const std::string& token) {
    LaunchRequest request;
    request.ledger_id = "ledger";
    request.job = "abcdefgh";
    request.token = token;
    request.launches = {1};
    EXPECT_TRUE(state_.Make(request).ok());
    return request;
  }
  // Everything that is older than a day has happened two days ago.
  void Age(const LaunchRequest& request) {
    const timespec then[2] = {{now_.ms / 1000 - 2 * 86'400, 0}, {now_.ms / 1000 - 2 * 86'400, 0}};
    const std::string path = state_.PathOf(request);
    for (const sys::DirEntry& entry : sys::ListDir(path).value()) {
      ASSERT_EQ(utimensat(AT_FDCWD, (path + "/" + entry.name).c_str(), then, 0), 0);
    }
    ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), then, 0), 0);
  }
  bool IsThere(const LaunchRequest& request) { return state_.Of(request).Exists(); }

  sys::TempDir dir_;
  SlurmState state_;
  const WallTime now_ = RealClock().Wall();
};

TEST_F(SlurmRequests, WhatWasRefusedGoesAfterADayAndIsNotSentAgain) {
  const LaunchRequest refused = Make("refused");
  state_.ClearUnsent(now_);
  EXPECT_TRUE(IsThere(refused)) << "it may be sent again";
  Age(refused);
  state_.ClearUnsent(now_);
  EXPECT_FALSE(IsThere(refused));
  EXPECT_TRUE(state_.IsOver(refused));
}

// Its end was seen while nobody knew its number, by which else it would be cleared away.
TEST_F(SlurmRequests, WhatEndedUnderNoNumberGoes) {
  const LaunchRequest ended = Make("ended");
  ASSERT_TRUE(state_.Of(ended).KeepEnd({SlurmEnder::kOwner, "over"}).ok());
  state_.ClearUnsent(now_);
  EXPECT_TRUE(IsThere(ended));
  Age(ended);
  state_.ClearUnsent(now_);
  EXPECT_FALSE(IsThere(ended));
  EXPECT_TRUE(state_.IsOver(ended));
}

TEST_F(SlurmRequests, WhatSlurmHasTakenStays) {
  const LaunchRequest taken = Make("taken");
  const LaunchRequest started = Make("started");
  ASSERT_TRUE(state_.KeepJob(taken, 7).ok());
  ASSERT_TRUE(sys::WriteFileAtomic(state_.PathOf(started) + "/started", "8\n", 0600, false).ok());
  for (const LaunchRequest& one : {taken, started}) Age(one);
  state_.ClearUnsent(now_);
  for (const LaunchRequest& one : {taken, started}) EXPECT_TRUE(IsThere(one)) << one.token;
}

TEST_F(SlurmRequests, WhoWaitsForAnAnswerIsNotDisturbed) {
  const LaunchRequest waits = Make("waits");
  Age(waits);
  ASSERT_TRUE(state_.Of(waits).BeginSending().ok());
  const timespec then[2] = {{now_.ms / 1000 - 2 * 86'400, 0}, {now_.ms / 1000 - 2 * 86'400, 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, state_.PathOf(waits).c_str(), then, 0), 0);
  state_.ClearUnsent(now_);
  EXPECT_TRUE(IsThere(waits));
  Age(waits);  // who died over it two days ago waits no more
  state_.ClearUnsent(now_);
  EXPECT_FALSE(IsThere(waits));
}

}  // namespace
}  // namespace stoker

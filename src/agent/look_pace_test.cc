// SPDX-License-Identifier: Apache-2.0
#include "agent/look_pace.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace stoker {
namespace {

constexpr MonoTime kStart{100'000};

// A job of so many nodes in its first attempt, all of them training.
struct Trains {
  explicit Trains(int nodes) {
    job.state = JobState::kRunning;
    job.num_nodes = nodes;
    Attempt attempt;
    attempt.number = 1;
    attempt.state = AttemptState::kRunning;
    for (int rank = 0; rank < nodes; ++rank) {
      Launch launch;
      launch.number = rank + 1;
      job.launches.push_back(launch);
      attempt.launches.push_back(launch.number);
      ReportSeen seen;
      seen.report.attempt = 1;
      seen.report.rank = rank;
      seen.report.launch = launch.number;
      seen.report.phase = NodePhase::kRunning;
      reports.push_back(seen);
      machines.push_back(
          {"i" + std::to_string(rank), launch.number, MachineState::kRunning, "", false});
    }
    job.attempts.push_back(attempt);
  }
  bool Undisturbed() const { return IsUndisturbed(job, reports, machines); }
  NodeReport& report(size_t rank) { return reports[rank].report; }

  Job job;
  std::vector<ReportSeen> reports;
  std::vector<MachineSeen> machines;
};

Ending Ended(EndReason reason) {
  Ending ending;
  ending.reason = reason;
  return ending;
}

TEST(Undisturbed, WhileAllTrainOrHaveCompleted) {
  Trains two(2);
  EXPECT_TRUE(two.Undisturbed());
  two.machines.clear();  // of another host: nothing is known of them
  EXPECT_TRUE(two.Undisturbed());
  two.report(1).phase = NodePhase::kEnded;
  two.report(1).end = Ended(EndReason::kCompleted);
  EXPECT_TRUE(two.Undisturbed());
  two.report(0) = two.report(1);
  two.report(0).rank = 0;
  two.report(0).launch = 1;
  EXPECT_FALSE(two.Undisturbed()) << "all have completed: the job is to be ended";
}

TEST(Undisturbed, NotWhenTheRecordAwaitsSomething) {
  const auto after = [](const std::function<void(Job&)>& change) {
    Trains one(1);
    change(one.job);
    return one.Undisturbed();
  };
  EXPECT_TRUE(after([](Job&) {}));
  EXPECT_FALSE(after([](Job& job) { job.cancel = CancelRequest{}; }));
  EXPECT_FALSE(after([](Job& job) { job.state = JobState::kStopping; }));
  EXPECT_FALSE(after([](Job& job) { job.attempts.clear(); }));
  EXPECT_FALSE(after([](Job& job) { job.attempts[0].state = AttemptState::kStaging; }));
  EXPECT_FALSE(after([](Job& job) { job.attempts[0].ending = Ended(EndReason::kUserError); }));
  EXPECT_FALSE(after([](Job& job) { job.launches[0].closed = true; }));
  EXPECT_FALSE(after([](Job& job) { job.launches.push_back({}); })) << "a launch beside it";
  EXPECT_FALSE(after([](Job& job) {
    Attempt before;
    before.state = AttemptState::kDraining;
    job.attempts.insert(job.attempts.begin(), before);
  }));
}

TEST(Undisturbed, NotWhenANodeHasNews) {
  const auto after = [](const std::function<void(Trains&)>& change) {
    Trains two(2);
    change(two);
    return two.Undisturbed();
  };
  EXPECT_FALSE(after([](Trains& w) { w.report(1).phase = NodePhase::kReady; }));
  EXPECT_FALSE(after([](Trains& w) { w.report(1).notice = Notice{}; }));
  EXPECT_FALSE(after([](Trains& w) { w.report(1).end = Ended(EndReason::kUserError); }));
  EXPECT_FALSE(after([](Trains& w) { w.report(1).launch = 7; }));
  EXPECT_FALSE(after([](Trains& w) { w.reports.pop_back(); }));
  EXPECT_FALSE(after([](Trains& w) { w.machines[1].state = MachineState::kGone; }));
  EXPECT_FALSE(after([](Trains& w) {
    w.machines.push_back({"former", 9, MachineState::kRunning, "", false});
  }));
}

StoreTraits Bucket() { return {}; }

// Such a job for a while: its nodes, and who else looks at it, each at its pace. The store's clock
// is ahead of the observers'.
class Played {
 public:
  explicit Played(int nodes, int attached = 0) : seen_(nodes) {
    for (int launch = 1; launch <= nodes; ++launch) Add(launch);
    for (int number = 0; number < attached; ++number) Add(0);
    written_.resize(static_cast<size_t>(nodes));
    silent_.resize(written_.size());
    for (size_t rank = 0; rank < written_.size(); ++rank) {
      written_[rank] = kStart - Duration::Ms(static_cast<int64_t>(rank) * 1'700 % 30'000);
    }
  }

  void Silence(size_t rank) { silent_[rank] = true; }
  // It looks at nothing any more, either.
  void Vanish(size_t rank) {
    Silence(rank);
    observers_[rank].wakes = kStart + Duration::Hours(1000);
  }
  Trains& seen() { return seen_; }
  MonoTime now() const { return now_; }

  // So long.
  void Run(Duration span) {
    whole_.clear();
    for (Observer& each : observers_) each.glances = each.wholes = each.reads = 0;
    const MonoTime end = now_ + span;
    for (; now_ < end; now_ = now_ + Duration::Ms(100)) {
      Report();
      for (Observer& each : observers_) {
        if (now_ >= each.wakes) Look(each);
      }
    }
  }

  int wholes(size_t who) const { return observers_[who].wholes; }
  int glances(size_t who) const { return observers_[who].glances; }
  int reads(size_t who) const { return observers_[who].reads; }
  // Between two looks of one observer, since the first.
  Duration longest() const { return longest_; }
  // When the whole looks were that there were in the last run, by whomever.
  const std::vector<MonoTime>& wholes() const { return whole_; }
  std::vector<size_t> WhoLooks() const {
    std::vector<size_t> who;
    for (size_t index = 0; index < observers_.size(); ++index) {
      if (observers_[index].wholes > 0) who.push_back(index);
    }
    return who;
  }

 private:
  struct Observer {
    LookPace pace;
    MonoTime wakes;
    int glances = 0;
    int wholes = 0;
    int reads = 0;
  };

  // A second apart or so, as machines come up.
  void Add(int launch) {
    const auto late = static_cast<int64_t>(observers_.size()) * 1'300 % 5'000;
    observers_.push_back({LookPace({}, launch), kStart + Duration::Ms(late)});
  }

  WallTime StoreNow() const { return WallTime{1'767'225'600'000 + now_.ms}; }

  void Report() {
    for (size_t rank = 0; rank < written_.size(); ++rank) {
      ReportSeen& seen = seen_.reports[rank];
      if (now_ - written_[rank] >= Duration::Seconds(30) && !silent_[rank]) {
        written_[rank] = now_;
        ++seen.report.seq;
      }
      seen.age = now_ - written_[rank];
    }
  }

  void Look(Observer& who) {
    if (who.pace.Whole(now_)) {
      ++who.wholes;
      whole_.push_back(now_);
      who.pace.Looked(now_, seen_.job, seen_.reports, seen_.machines, false, StoreNow());
    } else {
      ++who.glances;
      for (const LookPace::Slot& slot : who.pace.Heeds(now_)) {
        ++who.reads;
        who.pace.OnReport(now_, slot, seen_.reports[static_cast<size_t>(slot.rank)].report);
      }
    }
    const Duration pause = who.pace.Pause(now_);
    longest_ = std::max(longest_, pause);
    who.wakes = now_ + pause;
  }

  Trains seen_;
  MonoTime now_ = kStart;
  std::vector<MonoTime> written_;  // by rank
  std::vector<bool> silent_;
  std::vector<Observer> observers_;
  std::vector<MonoTime> whole_;
  Duration longest_;
};

TEST(LookPace, OfOneNodeGlancesAndLooksNowAndThen) {
  Played one(1);
  one.Run(Duration::Minutes(1));
  one.Run(Duration::Hours(1));
  EXPECT_LE(one.longest(), Duration::Seconds(8)) << "a cancel must be heard in time";
  EXPECT_EQ(one.wholes(0), 120);
  EXPECT_EQ(one.glances(0), 360);
  EXPECT_EQ(one.reads(0), 0);
}

TEST(LookPace, AJobIsLookedAtOnceInFifteenSecondsHoweverManyNodesItHas) {
  for (const int nodes : {2, 3, 64, 256}) {
    Played job(nodes);
    job.Run(Duration::Minutes(1));
    EXPECT_LE(job.wholes().size(), static_cast<size_t>(nodes) + 4) << nodes;
    job.Run(Duration::Hours(1));
    EXPECT_EQ(job.WhoLooks(), (std::vector<size_t>{0, 1})) << nodes;
    EXPECT_EQ(job.wholes().size(), 240U) << nodes;
    EXPECT_LE(job.longest(), Duration::Seconds(4)) << "a failed peer must be heard of in time";
    for (size_t index = 1; index < job.wholes().size(); ++index) {
      const Duration pause = job.wholes()[index] - job.wholes()[index - 1];
      ASSERT_GE(pause, Duration::Seconds(12)) << "they look in turn";
      ASSERT_LE(pause, Duration::Seconds(18)) << "they look in turn";
    }
    EXPECT_LE(job.glances(0), 960);
    if (nodes == 2) continue;
    EXPECT_LE(job.glances(2), 960);
    EXPECT_EQ(job.reads(2), 480) << "two reports each 15 s";
  }
}

TEST(LookPace, WhoLeavesNothingToNodesLooksEachTime) {
  for (const int nodes : {1, 2, 64}) {
    Played job(nodes, 1);
    job.Run(Duration::Minutes(1));
    job.Run(Duration::Hours(1));
    EXPECT_EQ(job.wholes(static_cast<size_t>(nodes)), 120) << nodes;
    EXPECT_EQ(job.reads(static_cast<size_t>(nodes)), 0) << nodes;
    EXPECT_LE(job.wholes().size(), 360U) << nodes;
  }
}

TEST(LookPace, ASilentLookoutIsReplaced) {
  Played job(64);
  job.Run(Duration::Minutes(10));
  job.Vanish(0);
  // The other one looks for it from when its report is late, as often as it can.
  job.Run(Duration::Seconds(75));
  EXPECT_GE(job.wholes(1), 4);
  for (size_t rank = 2; rank < 64; ++rank) EXPECT_GE(job.wholes(rank), 1) << rank;
  for (size_t rank = 3; rank < 64; ++rank) EXPECT_LE(job.wholes(rank), 1) << rank;
  // Until it is given up the next one does, too, and nobody else.
  job.Run(Duration::Seconds(20));
  EXPECT_EQ(job.WhoLooks(), (std::vector<size_t>{1, 2}));
  for (const size_t rank : {1, 2}) EXPECT_GE(job.wholes(rank), 5) << rank;
}

TEST(LookPace, AllLookWithin75SecondsOfTheLastWordOfBothLookouts) {
  Played job(64);
  job.Run(Duration::Minutes(10));
  job.Vanish(0);
  job.Vanish(1);
  job.Run(Duration::Seconds(75));
  EXPECT_EQ(job.WhoLooks().size(), 62U);
  // One of them was heard of half a minute later than the other, and may yet be a lookout to some.
  job.Run(Duration::Seconds(20));
  EXPECT_GE(job.wholes(2), 5);
  for (size_t rank = 4; rank < 64; ++rank) EXPECT_LE(job.wholes(rank), 1) << rank;
  job.Run(Duration::Minutes(1));
  EXPECT_GE(job.wholes(2), 15);
  EXPECT_GE(job.wholes(3), 1);
  for (size_t rank = 4; rank < 64; ++rank) EXPECT_LE(job.wholes(rank), 1) << rank;
}

TEST(LookPace, ALookoutThatHasNewsIsReplacedByTheNext) {
  const std::vector<std::function<void(NodeReport&)>> news = {
      [](NodeReport& report) {
        report.phase = NodePhase::kEnded;
        report.end = Ended(EndReason::kCompleted);
      },
      [](NodeReport& report) { report.launch = 1000; },
      [](NodeReport& report) { report.attempt = 2; },
      [](NodeReport& report) { report.notice = Notice{}; },
      [](NodeReport& report) { report.phase = NodePhase::kStopping; },
  };
  for (size_t which = 0; which < news.size(); ++which) {
    Played job(5);
    job.Run(Duration::Minutes(10));
    news[which](job.seen().report(0));
    job.Run(Duration::Seconds(15));
    for (const size_t rank : {2, 3, 4}) EXPECT_GE(job.wholes(rank), 1) << which << " " << rank;
    job.Run(Duration::Seconds(15));
    job.Run(Duration::Minutes(10));
    const bool completed = which == 0;
    const std::vector<size_t> next = {1, 2};
    EXPECT_EQ(job.WhoLooks(), completed ? next : std::vector<size_t>({0, 1, 2, 3, 4})) << which;
    EXPECT_EQ(job.wholes().size() == 40, completed) << "the others are waited for";
  }
}

// A machine that does not come may be waited for for days.
TEST(LookPace, NodesThatWaitForAMachineTakeTurns) {
  Played job(64);
  job.Silence(63);
  job.seen().job.state = JobState::kWaiting;
  job.seen().job.attempts[0].state = AttemptState::kStaging;
  for (size_t rank = 0; rank < 63; ++rank) job.seen().report(rank).phase = NodePhase::kReady;
  job.seen().reports[63].report.attempt = 0;
  job.seen().machines.pop_back();
  job.Vanish(63);
  job.Run(Duration::Minutes(2));
  job.Run(Duration::Hours(1));
  EXPECT_EQ(job.WhoLooks(), (std::vector<size_t>{0, 1}));
  EXPECT_EQ(job.wholes().size(), 240U);
  EXPECT_LE(job.longest(), Duration::Seconds(5)) << "the record tells that it has come";
  // That another is asked for is no reason to look more often.
  ++job.seen().job.rev;
  job.seen().job.attempts[0].number = 2;
  for (size_t rank = 0; rank < 63; ++rank) job.seen().report(rank).attempt = 2;
  job.Run(Duration::Minutes(1));
  job.Run(Duration::Minutes(10));
  EXPECT_EQ(job.wholes().size(), 40U);
  // It has come, as all see once they look; and then it says that it is ready.
  ++job.seen().job.rev;
  job.seen().report(63).attempt = 2;
  job.seen().report(0).phase = NodePhase::kRunning;
  job.Run(Duration::Seconds(20));
  for (size_t rank = 1; rank < 63; ++rank) EXPECT_GE(job.wholes(rank), 2) << rank;
}

TEST(LookPace, NodesThatWaitHaveNothingToSay) {
  const std::vector<std::function<void(Trains&)>> news = {
      [](Trains& w) { w.report(2).notice = Notice{}; },
      [](Trains& w) { w.report(2).end = Ended(EndReason::kUserError); },
      [](Trains& w) { w.report(2).phase = NodePhase::kDraining; },
      [](Trains& w) { w.job.cancel = CancelRequest{}; },
      [](Trains& w) { w.job.attempts[0].state = AttemptState::kDraining; },
      [](Trains& w) { w.job.attempts[0].ending = Ended(EndReason::kNodeLost); },
      [](Trains& w) {
        w.job.attempts.insert(w.job.attempts.begin(), Attempt{});
        w.job.attempts[0].state = AttemptState::kDraining;
      },
  };
  for (size_t which = 0; which < news.size(); ++which) {
    Played job(3);
    job.seen().job.attempts[0].state = AttemptState::kStaging;
    news[which](job.seen());
    job.Run(Duration::Minutes(2));
    job.Run(Duration::Minutes(3));
    for (size_t rank = 0; rank < 3; ++rank) EXPECT_GE(job.wholes(rank), 40) << which << " " << rank;
  }
  Played calm(3);
  calm.seen().job.attempts[0].state = AttemptState::kStaging;
  calm.Run(Duration::Minutes(2));
  calm.Run(Duration::Minutes(3));
  EXPECT_EQ(calm.wholes().size(), 12U) << "without any of these";
}

// The last that trains is looked after by those that have completed.
TEST(LookPace, OneThatTrainsLooksAloneAndIsHeeded) {
  Played job(3);
  for (const size_t rank : {0, 2}) {
    job.seen().report(rank).phase = NodePhase::kEnded;
    job.seen().report(rank).end = Ended(EndReason::kCompleted);
  }
  job.Run(Duration::Minutes(1));
  job.Run(Duration::Minutes(10));
  EXPECT_EQ(job.WhoLooks(), (std::vector<size_t>{1}));
  EXPECT_EQ(job.wholes().size(), 20U);
  job.Silence(1);
  job.Run(Duration::Seconds(75));
  EXPECT_GE(job.wholes(0), 1);
  EXPECT_GE(job.wholes(2), 1);
}

TEST(LookPace, AReportThatCannotBeReadIsNews) {
  LookPace pace(Bucket(), 3);
  const Trains three(3);
  pace.Looked(kStart, three.job, three.reports, three.machines, false);
  EXPECT_FALSE(pace.Whole(kStart + Duration::Minutes(5))) << "others look";
  EXPECT_TRUE(pace.Heeds(kStart + Duration::Ms(14'999)).empty());
  const MonoTime then = kStart + Duration::Seconds(15);
  const auto slots = pace.Heeds(then);
  ASSERT_EQ(slots.size(), 2U);
  pace.OnReport(then, slots[0], three.reports[0].report);
  EXPECT_FALSE(pace.Whole(then));
  EXPECT_TRUE(pace.Heeds(then + Duration::Seconds(1)).empty());
  pace.OnReport(then, slots[1], {});
  EXPECT_TRUE(pace.Whole(then));
  EXPECT_TRUE(pace.Heeds(then + Duration::Minutes(1)).empty()) << "the look sees it";
}

TEST(LookPace, AReportIsLateFromHalfATimeMoreThanOneTakes) {
  for (const int64_t age : {44'999, 45'000}) {
    Trains four(4);
    four.reports[1].age = Duration::Ms(age);
    const bool late = age >= 45'000;
    for (const int launch : {0, 1, 2, 3, 4}) {
      LookPace pace(Bucket(), launch);
      pace.Looked(kStart, four.job, four.reports, four.machines, false);
      // Its own a node knows to be on its way; and the last leaves it to others.
      const bool looks = late && launch != 2 && launch != 4;
      EXPECT_EQ(pace.Whole(kStart), looks) << age << " " << launch;
    }
    // One of a former attempt is of no account.
    four.reports.push_back(four.reports[1]);
    four.reports.back().report.attempt = 0;
    four.reports.back().age = Duration::Hours(1);
    LookPace pace(Bucket(), 1);
    pace.Looked(kStart, four.job, four.reports, four.machines, false);
    EXPECT_EQ(pace.Whole(kStart), late);
  }
}

// Nobody reports any more, and all machines are as they are until their time is over.
// A store that can be read and takes nothing: each node sees all the others late.
TEST(LookPace, WhereAllAreLateTheFirstTwoAloneLookOften) {
  for (const int64_t age : {60, 290, 310}) {
    Trains five(5);
    for (ReportSeen& seen : five.reports) seen.age = Duration::Seconds(age);
    for (int launch = 1; launch <= 5; ++launch) {
      LookPace pace(Bucket(), launch);
      pace.Looked(kStart, five.job, five.reports, five.machines, false);
      EXPECT_EQ(pace.Whole(kStart), launch <= 2 && age < 300) << launch << ", " << age << " s";
      EXPECT_TRUE(pace.Whole(kStart + Duration::Seconds(30))) << "nobody else may";
    }
  }
}

TEST(LookPace, MachinesThatAreKeptAreLookedAtInTurn) {
  for (const int nodes : {1, 2, 64}) {
    Played job(nodes);
    job.seen().job.state = JobState::kFailed;
    for (int rank = 0; rank < nodes; ++rank) {
      job.seen().job.launches[static_cast<size_t>(rank)].kept_until = WallTime{1};
      job.Silence(static_cast<size_t>(rank));
    }
    job.Run(Duration::Hours(1));
    EXPECT_EQ(job.WhoLooks().size(), static_cast<size_t>(nodes));
    job.Run(Duration::Hours(16));
    EXPECT_EQ(job.wholes().size(), nodes == 1 ? 1'920U : 3'840U);
    EXPECT_EQ(job.reads(0), 0);
  }
}

TEST(LookPace, NewsIsFollowedByWholeLooks) {
  LookPace pace(Bucket(), 1);
  Trains one(1);
  pace.Looked(kStart, one.job, one.reports, one.machines, false);
  EXPECT_FALSE(pace.Whole(kStart));
  pace.Disturb();
  EXPECT_TRUE(pace.Whole(kStart));
  EXPECT_EQ(pace.Pause(kStart), Duration::Seconds(2));
  // What it wrote may be only the first step.
  pace.Looked(kStart, one.job, one.reports, one.machines, true);
  EXPECT_TRUE(pace.Whole(kStart));
  // While its end is on the way, nothing is left out, but half as often when it takes long.
  one.report(0).phase = NodePhase::kStopping;
  pace.Looked(kStart, one.job, one.reports, one.machines, false);
  EXPECT_TRUE(pace.Whole(kStart));
  EXPECT_EQ(pace.Pause(kStart + Duration::Seconds(39)), Duration::Seconds(2));
  EXPECT_EQ(pace.Pause(kStart + Duration::Seconds(40)), Duration::Seconds(4));
}

TEST(LookPace, WhereRequestsAreFreeEveryLookIsWhole) {
  StoreTraits folder;
  folder.requests_are_free = true;
  folder.poll = Duration::Ms(50);
  LookPace pace(folder, 3);
  const Trains one(3);
  pace.Looked(kStart, one.job, one.reports, one.machines, false);
  EXPECT_TRUE(pace.Whole(kStart));
  EXPECT_EQ(pace.Pause(kStart), Duration::Ms(50));
  EXPECT_EQ(pace.Pause(kStart + Duration::Seconds(3)), Duration::Ms(100));
}

}  // namespace
}  // namespace stoker

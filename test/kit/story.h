// SPDX-License-Identifier: Apache-2.0
// For tests: the story of one job, told in three verbs. See() states a fact that the next pass
// observes, Pass() lets a controller reconcile, write and act, Expect() compares the record and
// what was done since the last Expect() with one line of text:
//
//   Running; 1 Draining L1,L2; 2 Provisioning L1,L3; sent L3
//
// that is: the job's state and result; every attempt that is not Ended, and the last one that is;
// every launch closed since; requests sent ("L1+L2": one for both) and machines ended since. The
// provider of a story gives a running machine for every launch that is sent, unless Withhold() was
// seen.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/text.h"
#include "reconcile/outcomes.h"
#include "reconcile/reconcile.h"

namespace stoker::story {

class Story {
 public:
  using Fact = std::function<void(Story&)>;

  explicit Story(int nodes = 1) {
    job.id = "ab12-story";
    job.num_nodes = nodes;
    spec.num_nodes = nodes;
    seen.now = WallTime{1'000'000'000};
    seen.ledger_id = "ledger";
    seen.places = {{"local", true, true}};
    start = seen.now;
  }

  template <typename... Facts>
  Story& See(Facts... facts) {
    (facts(*this), ...);
    return *this;
  }

  // `times` passes, each with a fresh reading of what Pass() itself has changed.
  Story& Pass(int times = 1) {
    for (int i = 0; i < times; ++i) One();
    return *this;
  }

  // Passes until nothing changes: a decision that never comes to rest is a storm of writes.
  Story& Settle() {
    for (int i = 0; i < 12; ++i) {
      if (!One()) return *this;
    }
    ADD_FAILURE() << "does not come to rest: " << Told();
    return *this;
  }

  Story& Expect(const std::string& expected) {
    EXPECT_EQ(Told(), expected) << Join(notes, "\n");
    shown_closed = ClosedLaunches();
    sent.clear();
    started.clear();
    ended.clear();
    notes.clear();
    return *this;
  }

  NodeReport& Report(int attempt, int rank) {
    for (ReportSeen& r : seen.reports) {
      if (r.report.attempt == attempt && r.report.rank == rank) return r.report;
    }
    ReportSeen r;
    r.report.job = job.id;
    r.report.attempt = attempt;
    r.report.rank = rank;
    const Attempt* a = FindAttempt(job, attempt);
    EXPECT_NE(a, nullptr) << "no attempt " << attempt;
    r.report.launch = a != nullptr ? a->launches.at(static_cast<size_t>(rank)) : 0;
    seen.reports.push_back(r);
    return seen.reports.back().report;
  }

  MachineSeen& Machine(int launch) {
    for (MachineSeen& m : seen.machines) {
      if (m.launch == launch) return m;
    }
    seen.machines.push_back({"m" + std::to_string(launch), launch, MachineState::kRunning, ""});
    return seen.machines.back();
  }

  // What was answered gets into the record.
  void Answer(int launch) {
    const Launch* asked = FindLaunch(job, launch);
    const int request = asked != nullptr ? asked->request : 0;
    if (refuses_all) (void)NoteOutcomes(job, {{request, *refuses_all}}, seen.now, false);
    const auto found = answers.find(launch);
    if (found == answers.end()) return;
    const auto& [refusal, judge] = found->second;
    if (NoteOutcomes(job, {{request, refusal}}, seen.now, judge)) ++job.rev;
  }

  std::vector<int> LaunchesOf(int request) const {
    std::vector<int> numbers;
    for (const Launch& launch : job.launches) {
      if (launch.request == request) numbers.push_back(launch.number);
    }
    return numbers;
  }

  Job job;
  JobSpec spec;
  Observed seen;
  WallTime start;
  std::vector<std::string> checkpoints;
  std::vector<std::string> as_left;
  std::set<int> withheld;
  // What everybody is answered who asks for a machine; unset: it is given.
  std::optional<Refusal> refuses_all;
  std::map<int, std::pair<Refusal, bool>> answers;  // to who asks for the launch; true = a judge
  std::vector<std::string> sent;
  std::vector<std::string> started;
  std::vector<std::string> ended;
  std::vector<std::string> notes;
  Decision last;

 private:
  bool One() {
    const auto decide = [&] { return Reconcile(job, spec, seen); };
    last = decide();
    if (last.want_checkpoints) {
      seen.checkpoints = Restorable{{"", checkpoints, as_left, {}, ""}};
      last = decide();
      EXPECT_FALSE(last.want_checkpoints);
    }
    ExpectSame(last, decide());
    seen.checkpoints.reset();
    for (const MachineAt& end : last.terminate) ExpectMayEnd(end.instance_id);
    if (last.changed) {
      job = last.job;
      ++job.rev;
    }
    notes.insert(notes.end(), last.notes.begin(), last.notes.end());
    for (const int request : last.send) {
      std::vector<std::string> names;
      for (const int launch : LaunchesOf(request)) {
        names.push_back("L" + std::to_string(launch));
        if (!withheld.contains(launch) && !refuses_all) Machine(launch);
        Answer(launch);
      }
      sent.push_back(Join(names, "+"));
    }
    for (const auto& [provider, id] : last.start) started.push_back(id);
    for (const auto& machine : last.terminate) {
      const std::string& id = machine.instance_id;
      ended.push_back(id);
      std::erase_if(seen.machines, [&](const MachineSeen& m) { return m.instance_id == id; });
    }
    return last.changed || !last.terminate.empty();
  }

  static void ExpectSame(const Decision& a, const Decision& b) {
    EXPECT_EQ(a.changed, b.changed);
    EXPECT_EQ(a.send, b.send);
    EXPECT_EQ(a.terminate, b.terminate);
    EXPECT_EQ(a.start, b.start);
    EXPECT_EQ(a.notes, b.notes);
    EXPECT_EQ(a.retire, b.retire);
  }

  // no-blind-kill, for every pass of every story.
  void ExpectMayEnd(const std::string& id) const {
    for (const MachineSeen& m : seen.machines) {
      if (m.instance_id != id) continue;
      const Launch* launch = FindLaunch(job, m.launch);
      EXPECT_TRUE(launch != nullptr && launch->closed) << id << " ended on an open launch";
    }
  }

  std::set<int> ClosedLaunches() const {
    std::set<int> closed;
    for (const Launch& launch : job.launches) {
      if (launch.closed) closed.insert(launch.number);
    }
    return closed;
  }

  static std::string Text(const Ending& ending) {
    std::string text(Name(ending.reason));
    if (ending.exit_code != 0) text += " " + std::to_string(ending.exit_code);
    if (ending.signal != 0) text += " signal " + std::to_string(ending.signal);
    if (ending.out_of_memory) text += " out of memory";
    return text;
  }

  static std::string Text(const Attempt& attempt) {
    std::vector<std::string> launches;
    for (const int launch : attempt.launches) launches.push_back("L" + std::to_string(launch));
    std::string text = std::to_string(attempt.number) + " " + std::string(Name(attempt.state)) +
                       " " + Join(launches, ",");
    if (!attempt.restore.empty()) text += " from " + attempt.restore;
    if (attempt.ending) text += " (" + Text(*attempt.ending) + ")";
    return text;
  }

  std::string Told() const {
    std::vector<std::string> parts{std::string(Name(job.state))};
    if (job.result) parts[0] += " (" + Text(*job.result) + ")";
    const Attempt* last_ended = nullptr;
    for (const Attempt& attempt : job.attempts) {
      if (attempt.state == AttemptState::kEnded) last_ended = &attempt;
    }
    for (const Attempt& attempt : job.attempts) {
      if (attempt.state != AttemptState::kEnded || &attempt == last_ended) {
        parts.push_back(Text(attempt));
      }
    }
    for (const Launch& launch : job.launches) {
      if (launch.closed && !shown_closed.contains(launch.number)) {
        parts.push_back("L" + std::to_string(launch.number) + " " +
                        std::string(Name(*launch.close_reason)));
      }
    }
    if (!sent.empty()) parts.push_back("sent " + Join(sent, " "));
    if (!started.empty()) parts.push_back("started " + Join(started, " "));
    if (!ended.empty()) parts.push_back("ended " + Join(ended, " "));
    return Join(parts, "; ");
  }

  std::set<int> shown_closed;
};

// ---- facts ----
using Fact = Story::Fact;

inline Fact After(int64_t seconds) {
  return [=](Story& s) { s.seen.now = s.seen.now + Duration::Seconds(seconds); };
}
// Node `rank` of `attempt` reports `phase`.
inline Fact In(int attempt, int rank, NodePhase phase) {
  return [=](Story& s) {
    NodeReport& report = s.Report(attempt, rank);
    report.phase = phase;
    ++report.seq;
  };
}
// Node `rank` of `attempt` reports its end.
inline Fact End(int attempt, int rank, EndReason reason, int code = 0, bool stopped = false) {
  return [=](Story& s) {
    In(attempt, rank, NodePhase::kEnded)(s);
    NodeReport& report = s.Report(attempt, rank);
    report.end = Ending{reason, code, 0, false, -1, "so"};
    report.stopped = stopped;
    report.end_checked = true;
  };
}
// What the node wrote last cannot be read.
inline Fact Unread(int attempt, int rank) {
  return [=](Story& s) {
    std::erase_if(s.seen.reports, [&](const ReportSeen& r) {
      return r.report.attempt == attempt && r.report.rank == rank;
    });
  };
}
inline Fact Told(int attempt, int rank) {
  return End(attempt, rank, EndReason::kCancelled, 0, true);
}
// The node's platform takes it in `seconds`; below zero: withdrawn.
inline Fact NoticeOf(int attempt, int rank, int64_t seconds) {
  return [=](Story& s) {
    NodeReport& report = s.Report(attempt, rank);
    report.notice.reset();
    if (seconds >= 0) report.notice = Notice{"terminate", s.seen.now + Duration::Seconds(seconds)};
  };
}
inline Fact IsGone(int launch) {
  return [=](Story& s) { s.Machine(launch).state = MachineState::kGone; };
}
inline Fact IsEndedBy(int launch, EndedBy by) {
  return [=](Story& s) {
    s.Machine(launch).state = MachineState::kGone;
    s.Machine(launch).ended_by = by;
  };
}
// It died of this before it was up.
inline Fact DiesAtBirth(int launch, const Refusal& refusal) {
  return [=](Story& s) {
    MachineSeen& machine = s.Machine(launch);
    machine.state = MachineState::kGone;
    machine.refusal = refusal;
    machine.freed = true;
  };
}
inline Fact Vanishes(int launch) {
  return [=](Story& s) {
    std::erase_if(s.seen.machines, [&](const MachineSeen& m) { return m.launch == launch; });
  };
}
inline Fact Boots(int launch) {
  return [=](Story& s) { s.Machine(launch).state = MachineState::kStarting; };
}
// Its provider lets it wait in a queue; Boots() lets it out.
inline Fact Queues(int launch) {
  return [=](Story& s) {
    s.Machine(launch).state = MachineState::kQueued;
    s.Machine(launch).why = "Priority";
  };
}
// It has been up for so long, as its provider says.
inline Fact UpFor(int launch, int64_t seconds) {
  return [=](Story& s) { s.Machine(launch).up_for = Duration::Seconds(seconds); };
}
inline Fact IsStopped(int launch) {
  return [=](Story& s) { s.Machine(launch).state = MachineState::kStopped; };
}
inline Fact MayStop() {
  return [](Story& s) { s.seen.places.front().may_stop = true; };
}
inline Fact CanStart() {
  return [](Story& s) { s.seen.places.front().can_start = true; };
}
// The newest report of the launch is `age` old, and this observer has seen it for `unchanged`.
inline Fact Quiet(int launch, int64_t age, int64_t unchanged) {
  return [=](Story& s) {
    for (ReportSeen& r : s.seen.reports) {
      if (r.report.launch != launch) continue;
      r.age = Duration::Seconds(age);
      r.unchanged = Duration::Seconds(unchanged);
    }
  };
}
inline Fact Withhold(int launch) {
  return [=](Story& s) { s.withheld.insert(launch); };
}
// Of the zone where passing, as providers say it.
inline Refusal No(RefusalClass what, RefusalScope scope = RefusalScope::kZone, Duration wait = {}) {
  return {what, scope, wait, {}, false, "the provider's words"};
}
// Whoever asked was told so; `judge`: as the submitter at its first send.
inline Fact Outcome(int launch, const Refusal& refusal, bool judge = true) {
  return [=](Story& s) {
    s.answers[launch] = {refusal, judge};
    s.withheld.insert(launch);
    s.Answer(launch);
  };
}
inline Fact Cancel() {
  return [](Story& s) {
    s.job.cancel = CancelRequest{s.seen.now, "ann"};
    ++s.job.rev;
  };
}
inline Fact Committed(std::vector<std::string> newest_first) {
  return [=](Story& s) { s.checkpoints = newest_first; };
}
// The place is asked for all at once; `alone`: it ends one of them and leaves the others.
inline Fact TakesGangs(bool alone) {
  return [=](Story& s) {
    s.seen.places.front().takes_gangs = true;
    s.seen.places.front().ends_one_alone = alone;
  };
}
inline Fact ProviderSilent(bool silent = true) {
  return [=](Story& s) { s.seen.places.front().known = !silent; };
}
// What the provider does not list may be there nevertheless.
inline Fact ListsMayLag() {
  return [](Story& s) {
    s.seen.places.front().absent_means_gone = false;
    s.seen.places.front().appear_within = Duration::Minutes(10);
  };
}

// All nodes of attempt 1 run the program.
inline Fact AllRun(int attempt = 1) {
  return [=](Story& s) {
    for (int rank = 0; rank < s.job.num_nodes; ++rank) In(attempt, rank, NodePhase::kRunning)(s);
  };
}

}  // namespace stoker::story

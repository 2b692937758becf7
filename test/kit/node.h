// SPDX-License-Identifier: Apache-2.0
// For tests: one node, driven by hand, in three verbs: On() states what happened, Does() compares
// the actions with one line of text, Shows() compares the phase and the report.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "agent/supervisor.h"
#include "base/text.h"

namespace stoker::node {

inline constexpr int kLaunch = 1;

struct Words {
  std::string operator()(const ClaimSlot& a) const { return "claim " + Of(a.attempt, a.rank); }
  std::string operator()(const StageNode& a) const {
    return "stage " + Of(a.attempt, a.rank) + (a.restore.empty() ? "" : " from " + a.restore);
  }
  std::string operator()(const CancelStaging&) const { return "cancel staging"; }
  std::string operator()(const StartProgram& a) const {
    return "start " + Of(a.attempt, a.rank) + " " + Join(a.addresses, ",") + ":" +
           std::to_string(a.master_port);
  }
  std::string operator()(const AskForCheckpoint&) const { return "ask for checkpoint"; }
  std::string operator()(const TerminateProgram&) const { return "term"; }
  std::string operator()(const KillProgram&) const { return "kill"; }
  std::string operator()(const CheckEnd&) const { return "check"; }
  std::string operator()(const FinalizeAttempt& a) const {
    return std::string("finalize") + (a.started ? " started" : "") +
           (a.signalled ? " signalled" : "") + (a.deadline ? " by deadline" : "");
  }
  std::string operator()(const Publish&) const { return "publish"; }
  std::string operator()(const Hurry&) const { return "hurry"; }
  std::string operator()(const KeepMachine& a) const {
    return "keep until " + std::to_string((a.until.ms - 1'700'000'000'000) / 1000);
  }
  std::string operator()(const PowerOff&) const { return "off"; }
  static std::string Of(int attempt, int rank) {
    return std::to_string(attempt) + "-" + std::to_string(rank);
  }
};

class Node {
 public:
  explicit Node(SupervisorConfig c = {}) : config(std::move(c)) {
    config.job = "j";
    config.launch = kLaunch;
    config.instance_id = "i";
    config.address = "127.0.0.2";
    supervisor.emplace(config);
    job.id = "j";
    job.launches.resize(1);
    job.launches[0].number = kLaunch;
  }

  Node& After(int64_t seconds) {
    ms += seconds * 1000;
    return On(Tick{});
  }
  Node& On(const AgentEvent& event) {
    const Instant now{MonoTime{ms}, WallTime{1'700'000'000'000 + ms}};
    for (const AgentAction& action : supervisor->Step(event, now)) {
      done.push_back(std::visit(Words{}, action));
    }
    return *this;
  }
  // Reads the record after `change`.
  template <typename Change>
  Node& Reads(Change change) {
    change(job);
    ++job.rev;
    return On(RecordRead{job});
  }
  Node& Reads() {
    return Reads([](Job&) {});
  }
  Node& Notice(int64_t seconds) {
    const WallTime until{1'700'000'000'000 + ms + seconds * 1000};
    return On(NoticeRead{stoker::Notice{"terminate", until}});
  }
  Node& Exits(int code, int signal = 0, bool out_of_memory = false) {
    return On(ProgramEnded{TaskExit{code, signal, out_of_memory, false}});
  }
  // What watched over it was killed, and it with that.
  Node& GoesUnwatched(bool out_of_memory = false) {
    return On(ProgramEnded{TaskExit{0, 9, out_of_memory, true}});
  }
  Node& Does(const std::string& expected) {
    EXPECT_EQ(Join(done, "; "), expected);
    done.clear();
    return *this;
  }
  // "<agent phase> <attempt>-<rank> <reported phase>[ <reason>[ code]][ stopped][ checked]"
  Node& Shows(const std::string& expected) {
    const NodeReport& r = supervisor->report();
    std::string text = std::string(Name(supervisor->phase())) + " " + Words::Of(r.attempt, r.rank) +
                       " " + std::string(Name(r.phase));
    if (r.end) text += " " + std::string(Name(r.end->reason));
    if (r.end && r.end->exit_code != 0) text += " " + std::to_string(r.end->exit_code);
    if (r.stopped) text += " stopped";
    if (r.end_checked) text += " checked";
    EXPECT_EQ(text, expected);
    return *this;
  }
  Node& Forget() {
    done.clear();
    return *this;
  }
  std::optional<int64_t> WakesIn() const {
    if (!supervisor->wake()) return std::nullopt;
    return supervisor->wake()->ms - ms;
  }

  SupervisorConfig config;
  std::optional<Supervisor> supervisor;
  Job job;
  int64_t ms = 5'000;
  std::vector<std::string> done;
};

// ---- changes of the record ----
inline auto Opens(int number, std::vector<int> launches,
                  AttemptState state = AttemptState::kProvisioning) {
  return [=](Job& job) {
    Attempt attempt;
    attempt.number = number;
    attempt.launches = launches;
    attempt.state = state;
    job.attempts.push_back(attempt);
  };
}
inline auto Begins(int number, const std::string& restore = "") {
  return [=](Job& job) {
    FindAttempt(job, number)->state = AttemptState::kStaging;
    FindAttempt(job, number)->restore = restore;
  };
}
inline auto Stops(int number, EndReason reason) {
  return [=](Job& job) { FindAttempt(job, number)->ending = Ending{reason, 0, 0, false, -1, ""}; };
}
inline auto Ends(int number) {
  return [=](Job& job) { FindAttempt(job, number)->state = AttemptState::kEnded; };
}
inline auto Closes() {
  return [](Job& job) { job.launches[0].closed = true; };
}
inline auto Finishes() {
  return [](Job& job) { job.state = JobState::kSucceeded; };
}

inline StagingEnded Staged(int attempt, int port = 29500) {
  StagingEnded event;
  event.attempt = attempt;
  event.master_port = port;
  return event;
}

inline Node Claiming(std::vector<int> launches = {kLaunch}, SupervisorConfig config = {}) {
  Node n(std::move(config));
  n.Reads(Opens(1, std::move(launches), AttemptState::kStaging)).Does("claim 1-0");
  return n;
}
inline Node Staging(std::vector<int> launches = {kLaunch}, SupervisorConfig config = {}) {
  Node n = Claiming(std::move(launches), std::move(config));
  n.On(ClaimAnswered{1, ClaimOutcome::kWon, {}}).Does("publish; stage 1-0");
  return n;
}
inline Node Running(SupervisorConfig config = {}) {
  Node n = Staging({kLaunch}, std::move(config));
  n.On(Staged(1)).Does("publish; start 1-0 127.0.0.2:29500");
  n.On(ProgramStarted{}).Does("publish; hurry").Shows("running 1-0 Running");
  return n;
}
inline NodeReport Peer(NodePhase phase, std::optional<EndReason> end = {}) {
  NodeReport peer;
  peer.attempt = 1;
  peer.rank = 1;
  peer.launch = 2;
  peer.phase = phase;
  peer.address = "127.0.0.3";
  peer.master_port = 31000;
  if (end) peer.end = Ending{*end, 0, 0, false, -1, ""};
  return peer;
}

}  // namespace stoker::node

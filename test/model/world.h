// SPDX-License-Identifier: Apache-2.0
// A toy world around the real decisions: one job, its record with compare-and-swap, a provider
// whose machines boot, are taken, die and hang, nodes that are driven by the real Supervisor,
// programs with steps and checkpoints, and several controllers that run the real Reconcile on
// readings that are already old. Everything happens in an event queue; a seed replays all of it.
//
//   world.cc              the queue, the plan that a seed draws, the faults
//   world_machines.cc     the provider and the programs
//   world_agents.cc       the loop around each Supervisor
//   world_controllers.cc  observe, reconcile, write, act; the user
//   world_checks.cc       what must always hold, and how it must end
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/supervisor.h"
#include "base/prng.h"
#include "job/job.h"
#include "reconcile/reconcile.h"
#include "spec/job_spec.h"

namespace stoker::model {

// What a seed draws: the program, and how much goes wrong until `calm`.
struct Plan {
  int nodes = 1;
  int controllers = 2;
  int steps = 60;
  int64_t step_ms = 1000;
  int checkpoint_every = 5;
  int crash_at = -1;  // from this step on the program fails; -1 = never
  int crash_code = 3;
  bool crash_once = false;  // only the first time
  bool setup_fails = false;
  int poisoned_step = -1;  // the first checkpoint of this step makes the program fail
  int corrupt_step = -1;   // the first checkpoint of this step cannot be restored
  bool ignores_term = false;
  bool zero_on_term = false;
  bool refused = false;  // every request for a machine is refused
  int max_restarts = 0;
  std::optional<Duration> max_duration;
  int64_t cancel_at = -1;  // milliseconds; -1 = never
  int64_t calm = 400'000;  // no fault begins after this
  int faults = 10;         // events like a machine being taken
  int noise = 20;          // in a thousand: lost requests and replies
};

struct Checkpoint {
  std::string id;
  int attempt = 0;
  int seq = 0;
  int step = 0;
};

// A running program of one node.
struct Program {
  int attempt = 0;
  int rank = 0;
  int step = 0;
  bool fails_at_once = false;
  bool announced = false;  // the supervisor knows that it was started
  std::vector<int> saved;  // steps whose checkpoint has settled but is not committed
};

// One controller: an attached command line, a verb, a timer or an agent.
struct Reader {
  int machine = -1;  // the agent's machine; -1 = none
  int incarnation = 0;
  bool busy = false;
  bool again = false;
  std::map<std::pair<int, int>, std::pair<int64_t, int64_t>> seen;  // report → seq, since when
  std::vector<LaunchOutcome> outcomes;
};

struct Machine {
  int id = 0;
  int launch = 0;
  bool booted = false;
  bool gone = false;
  bool shutting_down = false;
  std::optional<Notice> notice;
  int64_t mono_offset = 0;
  // The agent process, when there is one.
  std::unique_ptr<Supervisor> agent;
  int incarnation = 0;
  int64_t paused_until = 0;   // agent events wait until then; the program goes on
  int64_t cut_off_until = 0;  // no way to the store until then
  bool dirty = false;
  bool writing = false;
  int64_t seq = 0;
  int staging = 0;  // counts stagings, so that a cancelled one answers only once
  std::shared_ptr<Reader> reader;
  std::optional<Program> program;
  std::vector<int> saved;  // of the program that has ended: to be committed by the final sync
  std::string instance() const { return "m" + std::to_string(id); }
};

class World {
 public:
  World(uint64_t seed, Plan plan);
  // Runs until the job has ended and everything is cleared up, or until nothing good can come.
  void Run();
  // What went wrong; empty = nothing. The first breach stops the world.
  const std::string& breach() const { return breach_; }
  const std::vector<std::string>& story() const { return story_; }
  const Job& job() const { return record_; }
  int64_t events() const { return events_; }
  static Plan Draw(uint64_t seed);

 private:
  using Effect = std::function<void()>;
  struct StoredReport {
    NodeReport report;
    int64_t modified = 0;
  };
  struct PassState;

  // world.cc
  void At(int64_t time, Effect effect);
  void Soon(int64_t low, int64_t high, Effect effect) {
    At(now_ + rng_.Between(low, high), effect);
  }
  bool Noise() {
    return now_ < plan_.calm && rng_.Chance(static_cast<uint64_t>(plan_.noise), 1000);
  }
  void Tell(const std::string& what);
  void Fault();
  void GiveNotice(Machine& machine);
  Machine* AnyMachine(bool with_agent);

  // world_machines.cc
  Status AskFor(int launch, const std::string& token);
  void AddMachine(int launch);
  void Boot(int machine);
  void EndMachine(Machine& machine, const std::string& why);
  void StartAgent(Machine& machine);
  void KillAgent(Machine& machine);
  void RunProgram(Machine& machine, const StartProgram& action);
  void StepProgram(int machine, int incarnation, int attempt);
  void ExitProgram(Machine& machine, TaskExit exit);
  bool PeersAllow(const Program& program, bool* peer_died) const;
  void Commit(int attempt, int step);

  // world_agents.cc
  void Agent(int machine, int incarnation, int64_t low, int64_t high,
             std::function<void(Machine&)> effect);
  void Step(Machine& machine, const AgentEvent& event);
  void Do(Machine& machine, const AgentAction& action);
  void Claim(Machine& machine, const ClaimSlot& action);
  void Stage(Machine& machine, const StageNode& action);
  void FinalSync(Machine& machine, const FinalizeAttempt& action);
  void WriteReport(Machine& machine);
  void ReadRecord(Machine& machine);
  void ReadReports(Machine& machine);
  void PollNotice(Machine& machine);
  void Beat(Machine& machine);

  // world_controllers.cc
  void Controller(std::shared_ptr<Reader> reader);
  void Nudge(std::shared_ptr<Reader> reader, int64_t low, int64_t high);
  void Pass(std::shared_ptr<Reader> reader);
  bool Works(const Reader& reader) const;
  void Observe(PassState& pass);
  void ListMachines(PassState& pass);
  void Decide(std::shared_ptr<PassState> pass);
  bool Write(PassState& pass);
  void Act(std::shared_ptr<PassState> pass);
  void Done(std::shared_ptr<Reader> reader, bool again);
  void Cancel();

  // world_checks.cc
  void Breach(const std::string& what);
  void CheckWrite(const Job& before, const Job& after);
  void CheckAttempts(const Job& before, const Job& after);
  void CheckRestore(const Attempt& attempt, const Job& after);
  void CheckCommit(const Checkpoint& checkpoint);
  bool NoticeRanOut(int attempt, int rank) const;
  void CheckStart(const Machine& machine, const Program& program);
  void CheckEndMachine(const Machine& machine);
  void CheckRequest(int launch, const std::string& token);
  void CheckSame(const Decision& a, const Decision& b);
  void CheckOutcome();
  bool ClearedUp() const;

  Plan plan_;
  Prng rng_;
  int64_t now_ = 1'000'000;
  std::multimap<std::pair<int64_t, uint64_t>, Effect> queue_;
  int64_t events_ = 0;
  std::string breach_;
  std::vector<std::string> story_;

  // the store
  Job record_;
  JobSpec spec_;
  std::map<std::pair<int, int>, StoredReport> reports_;
  std::map<std::pair<int, int>, std::pair<int, int>> claims_;  // → machine, incarnation
  std::vector<Checkpoint> checkpoints_;                        // as committed
  int poisoned_ = -1;                                          // index into checkpoints_
  int corrupt_ = -1;

  // the provider and its machines
  std::map<int, Machine> machines_;
  std::map<std::string, int> tokens_;
  std::set<int> removed_;
  int next_machine_ = 1;

  // what the programs did
  enum class Fate { kRunning, kDied, kCompleted };
  std::map<std::pair<int, int>, Fate> fates_;
  bool crashed_once_ = false;
  bool retired_ = false;
  int64_t ended_at_ = -1;
};

}  // namespace stoker::model

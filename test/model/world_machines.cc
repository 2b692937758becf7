// SPDX-License-Identifier: Apache-2.0
// The provider's machines and the programs on them.
#include "test/model/world.h"

namespace stoker::model {

Status World::AskFor(int launch, const std::string& token) {
  CheckRequest(launch, token);
  if (plan_.refused) return Status(Code::kDenied, "no permission");
  if (Noise()) return Status(Code::kNoSpace, "no capacity");
  if (Noise()) return Status(Code::kUnavailable, "the request was lost");
  if (!tokens_.contains(token)) {
    tokens_[token] = launch;
    AddMachine(launch);
    // A provider may forget a token, or know it only in one zone: the claim must decide then.
    if (Noise()) AddMachine(launch);
  }
  if (Noise()) return Status(Code::kTimeout, "the reply was lost");
  return Status::Ok();
}

void World::AddMachine(int launch) {
  Machine& machine = machines_[next_machine_];
  machine.id = next_machine_++;
  machine.launch = launch;
  machine.mono_offset = rng_.Between(0, 1'000'000);
  Tell(machine.instance() + " is created for launch " + std::to_string(launch));
  if (now_ < plan_.calm && rng_.Chance(1, 60)) return;  // never comes up
  Soon(50, 30'000, [this, id = machine.id] { Boot(id); });
}

void World::Boot(int id) {
  Machine& machine = machines_[id];
  if (machine.gone) return;
  machine.booted = true;
  StartAgent(machine);
}

void World::EndMachine(Machine& machine, const std::string& why) {
  if (machine.gone) return;
  Tell(machine.instance() + " is gone: " + why);
  KillAgent(machine);
  machine.gone = true;
}

void World::StartAgent(Machine& machine) {
  if (machine.gone || machine.agent) return;
  SupervisorConfig config;
  config.job = record_.id;
  config.launch = machine.launch;
  config.instance_id = machine.instance();
  config.incarnation = std::to_string(++machine.incarnation);
  config.address = "127.0.0." + std::to_string(machine.id);
  config.stop_grace = spec_.stop_grace;
  config.max_duration = spec_.limits.max_duration;
  machine.agent = std::make_unique<Supervisor>(config);
  machine.dirty = false;
  machine.writing = false;
  machine.seq = 1000 * machine.incarnation;
  machine.paused_until = 0;
  machine.reader = std::make_shared<Reader>();
  machine.reader->machine = machine.id;
  machine.reader->incarnation = machine.incarnation;
  PollNotice(machine);
  ReadRecord(machine);
  ReadReports(machine);
  Beat(machine);
  Controller(machine.reader);
}

// The program ends with its agent.
void World::KillAgent(Machine& machine) {
  if (machine.program) {
    fates_[{machine.program->attempt, machine.program->rank}] = Fate::kDied;
    machine.program.reset();
  }
  machine.saved.clear();
  machine.agent.reset();
}

void World::RunProgram(Machine& machine, const StartProgram& action) {
  Program program;
  program.attempt = action.attempt;
  program.rank = action.rank;
  const Attempt* attempt = FindAttempt(record_, action.attempt);
  for (size_t i = 0; attempt != nullptr && i < checkpoints_.size(); ++i) {
    if (checkpoints_[i].id != attempt->restore) continue;
    program.step = checkpoints_[i].step;
    program.fails_at_once = static_cast<int>(i) == poisoned_;
  }
  CheckStart(machine, program);
  Tell(machine.instance() + " runs " + std::to_string(program.attempt) + "-" +
       std::to_string(program.rank) + " from step " + std::to_string(program.step));
  fates_[{program.attempt, program.rank}] = Fate::kRunning;
  machine.program = program;
  // The loop may hear of the end first.
  const auto announce = [this](Machine& node) {
    if (node.program) node.program->announced = true;
    Step(node, ProgramStarted{});
  };
  if (rng_.Chance(1, 15)) {
    Agent(machine.id, machine.incarnation, 0, 4000, announce);
  } else {
    announce(machine);
  }
  const int id = machine.id;
  const int incarnation = machine.incarnation;
  const int number = program.attempt;
  Soon(10, plan_.step_ms,
       [this, id, incarnation, number] { StepProgram(id, incarnation, number); });
}

// Collectives: a step needs every peer; a peer that is gone makes the others fail.
bool World::PeersAllow(const Program& program, bool* peer_died) const {
  bool all = true;
  for (int rank = 0; rank < plan_.nodes; ++rank) {
    const auto fate = fates_.find({program.attempt, rank});
    if (fate == fates_.end()) {
      all = false;
    } else if (fate->second == Fate::kDied) {
      *peer_died = true;
    }
  }
  return all && !*peer_died;
}

void World::StepProgram(int id, int incarnation, int attempt) {
  Machine& machine = machines_[id];
  if (!machine.program || machine.incarnation != incarnation) return;
  Program& program = *machine.program;
  if (program.attempt != attempt) return;
  if (program.announced && machine.agent->phase() == AgentPhase::kKilling) {
    return Breach("a program outlives its end");
  }
  const auto again = [this, id, incarnation, attempt] { StepProgram(id, incarnation, attempt); };
  bool peer_died = false;
  if (!PeersAllow(program, &peer_died)) {
    if (peer_died && rng_.Chance(1, 3)) {
      ExitProgram(machine, TaskExit{1, 0, false});
    } else {
      Soon(200, 1500, again);
    }
    return;
  }
  if (program.fails_at_once) return ExitProgram(machine, TaskExit{1, 0, false});
  if (plan_.crash_at >= 0 && program.step >= plan_.crash_at && program.rank == plan_.nodes - 1 &&
      !(plan_.crash_once && crashed_once_)) {
    crashed_once_ = true;
    return ExitProgram(machine, TaskExit{plan_.crash_code, 0, false});
  }
  if (program.step >= plan_.steps) return ExitProgram(machine, TaskExit{});
  ++program.step;
  if (program.rank == 0 && program.step % plan_.checkpoint_every == 0) {
    const int step = program.step;
    program.saved.push_back(step);
    Agent(id, incarnation, 100, 4000, [this, attempt, step](Machine& node) {
      const bool same = node.program && node.program->attempt == attempt;
      if (same && node.cut_off_until <= now_ && std::erase(node.program->saved, step) > 0) {
        Commit(attempt, step);
      }
    });
  }
  Soon(plan_.step_ms / 2, plan_.step_ms, again);
}

void World::ExitProgram(Machine& machine, TaskExit exit) {
  const bool completed = exit.exit_code == 0 && exit.signal == 0;
  fates_[{machine.program->attempt, machine.program->rank}] =
      completed ? Fate::kCompleted : Fate::kDied;
  machine.saved = machine.program->saved;
  machine.program.reset();
  Agent(machine.id, machine.incarnation, 0, 300,
        [this, exit](Machine& node) { Step(node, ProgramEnded{exit}); });
}

void World::Commit(int attempt, int step) {
  int seq = 0;
  for (const Checkpoint& other : checkpoints_) {
    if (other.attempt == attempt) seq = std::max(seq, other.seq);
    if (other.attempt == attempt && other.step >= step) return;  // a newer one is there
  }
  Checkpoint checkpoint;
  checkpoint.attempt = attempt;
  checkpoint.seq = seq + 1;
  checkpoint.step = step;
  checkpoint.id = std::to_string(attempt) + "-" + std::to_string(checkpoint.seq);
  const int index = static_cast<int>(checkpoints_.size());
  if (step == plan_.poisoned_step && poisoned_ < 0) poisoned_ = index;
  if (step == plan_.corrupt_step && corrupt_ < 0) corrupt_ = index;
  CheckCommit(checkpoint);
  Tell("checkpoint " + checkpoint.id + " of step " + std::to_string(step));
  checkpoints_.push_back(checkpoint);
}

}  // namespace stoker::model

// SPDX-License-Identifier: Apache-2.0
// The loop around each Supervisor: carries actions out and feeds back what came of them.
#include "test/model/world.h"

namespace stoker::model {

// Something that the agent process itself does later: not done when it has died, and later when it
// hangs.
void World::Agent(int id, int incarnation, int64_t low, int64_t high,
                  std::function<void(Machine&)> effect) {
  Soon(low, high, [this, id, incarnation, effect = std::move(effect)] {
    Machine& machine = machines_[id];
    if (!machine.agent || machine.incarnation != incarnation) return;
    if (machine.paused_until > now_) {
      if (machine.paused_until - now_ > 1'000'000) return;  // for ever
      At(machine.paused_until,
         [this, id, incarnation, effect] { Agent(id, incarnation, 0, 50, effect); });
      return;
    }
    effect(machine);
  });
}

void World::Step(Machine& machine, const AgentEvent& event) {
  if (!machine.agent) return;
  const Instant instant{MonoTime{now_ + machine.mono_offset}, WallTime{now_}};
  const auto actions = machine.agent->Step(event, instant);
  for (const AgentAction& action : actions) {
    if (machine.agent) Do(machine, action);
  }
  if (!machine.agent) return;
  if (const auto wake = machine.agent->wake()) {
    const int64_t delay = std::max<int64_t>(0, wake->ms - instant.mono.ms);
    Agent(machine.id, machine.incarnation, delay, delay, [this](Machine& node) {
      if (node.agent->wake()) Step(node, Tick{});
    });
  }
}

void World::Do(Machine& machine, const AgentAction& action) {
  const int id = machine.id;
  const int incarnation = machine.incarnation;
  if (const auto* claim = std::get_if<ClaimSlot>(&action)) return Claim(machine, *claim);
  if (const auto* stage = std::get_if<StageNode>(&action)) return Stage(machine, *stage);
  if (const auto* final = std::get_if<FinalizeAttempt>(&action)) return FinalSync(machine, *final);
  if (std::holds_alternative<CancelStaging>(action)) {
    const int attempt = machine.agent->report().attempt;
    ++machine.staging;
    Agent(id, incarnation, 10, 500, [this, attempt](Machine& node) {
      StagingEnded ended;
      ended.attempt = attempt;
      ended.status = Status(Code::kCancelled, "cancelled");
      Step(node, ended);
    });
  } else if (const auto* start = std::get_if<StartProgram>(&action)) {
    Agent(id, incarnation, 1, rng_.Chance(1, 10) ? 15'000 : 400,
          [this, start = *start](Machine& node) { RunProgram(node, start); });
  } else if (std::holds_alternative<TerminateProgram>(action)) {
    if (!machine.program || plan_.ignores_term) return;
    const int attempt = machine.program->attempt;
    Soon(10, 3000, [this, id, attempt] {
      Machine& node = machines_[id];
      if (!node.program || node.program->attempt != attempt) return;
      ExitProgram(node, plan_.zero_on_term ? TaskExit{} : TaskExit{143, 0, false});
    });
  } else if (std::holds_alternative<KillProgram>(action)) {
    if (machine.program) ExitProgram(machine, TaskExit{0, 9, false});
  } else if (std::holds_alternative<CheckEnd>(action)) {
    Agent(id, incarnation, 1, 500, [this](Machine& node) {
      Step(node, EndChecked{node.notice.has_value() || node.shutting_down});
    });
  } else if (std::holds_alternative<Publish>(action)) {
    machine.dirty = true;
    WriteReport(machine);
  } else if (std::holds_alternative<Hurry>(action)) {
    Nudge(machine.reader, 1, 60);
  } else if (const auto* off = std::get_if<PowerOff>(&action)) {
    Soon(0, 500, [this, id, why = off->why] { EndMachine(machines_[id], why); });
  }
}

void World::Claim(Machine& machine, const ClaimSlot& action) {
  Agent(machine.id, machine.incarnation, 1, 300, [this, action](Machine& node) {
    if (node.cut_off_until > now_ || Noise()) return Claim(node, action);
    const auto key = std::make_pair(action.attempt, action.rank);
    const auto mine = std::make_pair(node.id, node.incarnation);
    const auto [holder, fresh] = claims_.try_emplace(key, mine);
    ClaimAnswered answer;
    answer.attempt = action.attempt;
    if (fresh || holder->second == mine) {
      answer.outcome = ClaimOutcome::kWon;
    } else if (holder->second.first == node.id) {
      answer.outcome = ClaimOutcome::kOursBefore;
      const auto previous = reports_.find(key);
      if (previous != reports_.end() && previous->second.report.launch == node.launch) {
        answer.previous = previous->second.report;
      }
    }
    if (Noise()) return Claim(node, action);  // the reply was lost after the effect
    Step(node, answer);
  });
}

void World::Stage(Machine& machine, const StageNode& action) {
  const int staging = ++machine.staging;
  Agent(machine.id, machine.incarnation, 50, 12'000, [this, action, staging](Machine& node) {
    if (node.staging != staging) return;
    StagingEnded ended;
    ended.attempt = action.attempt;
    ended.restored = action.restore;
    ended.master_port = 29500;
    if (corrupt_ >= 0 && checkpoints_[static_cast<size_t>(corrupt_)].id == action.restore) {
      ended.restore_error = "wrong digest";
      ended.status = Status(Code::kCorrupt, "wrong digest");
    } else if (Noise() && rng_.Chance(1, 3)) {
      ended.status = Status(Code::kNoSpace, "disk full");
    } else if (plan_.setup_fails && action.rank == 0) {
      ended.status = Status(Code::kInvalid, "setup failed");
      ended.setup_failed = true;
      ended.setup_code = plan_.crash_code;
    }
    Step(node, ended);
  });
}

// What had settled while its writer lived is committed; then the end may be told.
void World::FinalSync(Machine& machine, const FinalizeAttempt& action) {
  Agent(machine.id, machine.incarnation, 20, 3000, [this, action](Machine& node) {
    if (node.cut_off_until > now_) return FinalSync(node, action);
    for (const int step : node.saved) Commit(action.attempt, step);
    node.saved.clear();
    Step(node, Finalized{action.attempt});
    ReadRecord(node);
  });
}

void World::WriteReport(Machine& machine) {
  if (machine.writing) return;
  machine.writing = true;
  Agent(machine.id, machine.incarnation, 1, 120, [this](Machine& node) {
    node.writing = false;
    if (!node.agent->publishes()) return;
    if (node.cut_off_until <= now_ && !Noise()) {
      node.dirty = false;
      NodeReport report = node.agent->report();
      report.seq = ++node.seq;
      reports_[{report.attempt, report.rank}] = {report, now_};
    }
    if (node.dirty) WriteReport(node);
  });
}

void World::ReadRecord(Machine& machine) {
  Agent(machine.id, machine.incarnation, 1, 100, [this](Machine& node) {
    if (node.cut_off_until > now_) return;
    Agent(node.id, node.incarnation, 0, 100,
          [this, job = record_](Machine& later) { Step(later, RecordRead{job}); });
  });
}

void World::ReadReports(Machine& machine) {
  Agent(machine.id, machine.incarnation, 1, 200, [this](Machine& node) {
    if (node.cut_off_until > now_) return;
    ReportsRead read;
    for (const auto& [key, stored] : reports_) {
      if (key.first == node.agent->report().attempt) read.reports.push_back(stored.report);
    }
    Step(node, read);
  });
}

void World::PollNotice(Machine& machine) { Step(machine, NoticeRead{machine.notice}); }

// Once a second, until the process dies.
void World::Beat(Machine& machine) {
  Agent(machine.id, machine.incarnation, 800, 1200, [this](Machine& node) {
    PollNotice(node);
    ReadRecord(node);
    ReadReports(node);
    if (rng_.Chance(1, 15)) node.dirty = true;
    if (node.dirty) WriteReport(node);
    Beat(node);
  });
}

}  // namespace stoker::model

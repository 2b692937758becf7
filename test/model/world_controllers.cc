// SPDX-License-Identifier: Apache-2.0
// Controllers: observe, reconcile, write, act, with time passing between any two of them; and the
// user, who cancels.
#include "test/model/world.h"

namespace stoker::model {

struct World::PassState {
  std::shared_ptr<Reader> reader;
  Job job;
  Observed seen;
  Decision decision;
  size_t sent = 0;
  size_t ended = 0;
};

bool World::Works(const Reader& reader) const {
  if (reader.machine < 0) return true;
  const Machine& machine = machines_.at(reader.machine);
  return machine.agent && machine.incarnation == reader.incarnation &&
         machine.paused_until <= now_ && machine.cut_off_until <= now_;
}

void World::Controller(std::shared_ptr<Reader> reader) {
  Nudge(reader, 0, 500);
  Soon(2000, 10'000, [this, reader] {
    if (reader->machine >= 0) {
      const Machine& machine = machines_.at(reader->machine);
      if (!machine.agent || machine.incarnation != reader->incarnation) return;
    }
    Controller(reader);
  });
}

void World::Nudge(std::shared_ptr<Reader> reader, int64_t low, int64_t high) {
  Soon(low, high, [this, reader] {
    if (reader->busy) {
      reader->again = true;
    } else if (Works(*reader)) {
      Pass(reader);
    }
  });
}

void World::Done(std::shared_ptr<Reader> reader, bool again) {
  reader->busy = false;
  if (again || reader->again) Nudge(reader, 1, 200);
  reader->again = false;
}

// The readings in the order that Observed asks for, each at its own time.
void World::Pass(std::shared_ptr<Reader> reader) {
  reader->busy = true;
  auto pass = std::make_shared<PassState>();
  pass->reader = reader;
  pass->job = record_;
  const auto stall = [this] { return Noise() ? 5000 : 60; };
  Soon(0, stall(), [this, pass, stall] {
    Observe(*pass);
    Soon(0, stall(), [this, pass, stall] {
      ListMachines(*pass);
      Soon(0, stall(), [this, pass] { Decide(pass); });
    });
  });
}

void World::Observe(PassState& pass) {
  Observed& seen = pass.seen;
  seen.now = WallTime{now_};
  seen.ledger_id = "ledger";
  seen.outcomes = pass.reader->outcomes;
  for (const auto& [key, stored] : reports_) {
    auto& [seq, since] = pass.reader->seen[key];
    if (since == 0 || seq != stored.report.seq) {
      seq = stored.report.seq;
      since = now_;
    }
    seen.reports.push_back(
        {stored.report, Duration{now_ - stored.modified}, Duration{now_ - since}});
  }
}

void World::ListMachines(PassState& pass) {
  Observed& seen = pass.seen;
  seen.machines_known = !Noise();
  seen.absent_means_gone = true;
  if (!seen.machines_known) return;
  for (const auto& [id, machine] : machines_) {
    if (removed_.contains(id)) continue;
    const MachineState state = machine.gone     ? MachineState::kGone
                               : machine.booted ? MachineState::kRunning
                                                : MachineState::kStarting;
    seen.machines.push_back({machine.instance(), machine.launch, state, ""});
  }
}

void World::Decide(std::shared_ptr<PassState> pass) {
  if (!Works(*pass->reader)) return Done(pass->reader, false);
  const auto decide = [&] { return Reconcile(pass->job, spec_, pass->seen); };
  pass->decision = decide();
  if (pass->decision.want_checkpoints) {
    std::map<std::pair<int, int>, std::string> newest;
    for (const Checkpoint& c : checkpoints_) newest[{-c.attempt, -c.seq}] = c.id;
    Generation own;
    for (const auto& [key, id] : newest) own.whole.push_back(id);
    pass->seen.checkpoints = Restorable{own};
    pass->decision = decide();
  }
  if (events_ % 8 == 0) CheckSame(pass->decision, decide());
  Soon(0, Noise() ? 3000 : 40, [this, pass] {
    if (Noise() || !Works(*pass->reader)) return Done(pass->reader, false);  // died before
    if (pass->decision.changed && !Write(*pass)) return Done(pass->reader, true);
    if (pass->decision.retire) retired_ = true;
    pass->reader->outcomes.clear();
    Act(pass);
  });
}

bool World::Write(PassState& pass) {
  if (record_.rev != pass.job.rev) return false;
  Job next = pass.decision.job;
  ++next.rev;
  CheckWrite(record_, next);
  if (IsFinal(next.state) && !IsFinal(record_.state)) ended_at_ = now_;
  record_ = std::move(next);
  for (const std::string& note : pass.decision.notes) Tell(note);
  return !Noise();  // else the reply was lost after the effect
}

// One request at a time; a failure, or the death of the controller, drops the rest.
void World::Act(std::shared_ptr<PassState> pass) {
  const Decision& decision = pass->decision;
  if (Noise() || !Works(*pass->reader)) return Done(pass->reader, false);
  if (pass->sent < decision.send.size()) {
    const int number = decision.send[pass->sent++];
    const Launch* launch = FindLaunch(decision.job, number);
    const Status status = AskFor(number, launch->token);
    pass->reader->outcomes.push_back({number, status});
    if (!status.ok()) return Done(pass->reader, false);
  } else if (pass->ended < decision.terminate.size()) {
    const std::string& instance = decision.terminate[pass->ended++];
    for (auto& [id, machine] : machines_) {
      if (machine.instance() != instance) continue;
      CheckEndMachine(machine);
      // Ending takes its time, and the machine works on meanwhile.
      Soon(0, rng_.Chance(1, 2) ? 0 : 40'000, [this, id = id] {
        EndMachine(machines_[id], "ended by a controller");
        removed_.insert(id);
      });
    }
  } else {
    return Done(pass->reader, decision.changed);
  }
  Soon(0, Noise() ? 5000 : 100, [this, pass] { Act(pass); });
}

void World::Cancel() {
  if (IsFinal(record_.state)) return;
  Tell("the user cancels");
  Job next = record_;
  next.cancel = CancelRequest{WallTime{now_}, "user"};
  ++next.rev;
  CheckWrite(record_, next);
  record_ = std::move(next);
}

}  // namespace stoker::model

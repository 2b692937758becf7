// SPDX-License-Identifier: Apache-2.0
// Who is there, out of the plan.
#include <algorithm>

#include "ledger/records.h"
#include "sim/people/actor.h"
#include "sim/people/away.h"

namespace stoker::sim {
namespace {

Actor& Add(World& world, const std::string& name) {
  world.actors().push_back(std::make_unique<Actor>(world, name));
  return *world.actors().back();
}

std::string NameOf(int index) { return "j" + std::to_string(index); }

void SubmitAndStay(Session& session, int index) {
  const JobPlan& plan = session.world.plan().jobs[static_cast<size_t>(index)];
  std::string job = FindJob(session, NameOf(index));
  // After an answer that was lost, a user looks first.
  for (int tries = 0; job.empty() && tries < 20; ++tries) {
    const auto submitted = SubmitJob(session, index, "");
    if (submitted.ok()) {
      job = *submitted;
    } else {
      session.Sleep(30'000);
      job = FindJob(session, NameOf(index));
    }
  }
  if (job.empty()) return;
  session.controller->Submitted(job);
  if (!plan.attached) {
    (void)session.controller->Pass(job);
    return;
  }
  const int64_t until = plan.leaves_after < 0 ? -1 : session.world.now() + plan.leaves_after;
  Attach(session, job, until);
}

bool HasJob(World& world, int index) {
  const auto& jobs = world.jobs();
  return std::any_of(jobs.begin(), jobs.end(),
                     [&](const auto& job) { return world.PlanIndexOf(job.first) == index; });
}

void AddSubmitter(World& world, int index) {
  const JobPlan& plan = world.plan().jobs[static_cast<size_t>(index)];
  Actor& user = Add(world, "user" + std::to_string(index));
  const auto body = [index](Session& session) { SubmitAndStay(session, index); };
  user.Once(plan.submit_at, body, true);
  // A user whose command died looks whether there is a job, and submits it if there is none.
  user.killed = [&user, body, &world, index] {
    if (!world.finished() && !HasJob(world, index)) user.Once(world.now() + 60'000, body, true);
  };
  if (plan.submit_dies_at >= 0) {
    world.scheduler().At(plan.submit_at + plan.submit_dies_at, [&user, body, &world, index] {
      if (!user.running()) return;
      if (HasJob(world, index)) user.Once(world.now() + 60'000, body, true);
      user.Kill(0);
    });
  }
}

// Who is to give up a job once the world is calm goes on until no job of that plan is open: its
// user may have slept through the faults, or have submitted it twice.
void GiveUp(Session& session, int index) {
  World& world = session.world;
  for (int tries = 0; tries < 200; ++tries) {
    std::vector<std::string> open;
    for (const auto& [id, job] : world.jobs()) {
      if (world.PlanIndexOf(id) == index && !IsFinal(job.state)) open.push_back(id);
    }
    if (open.empty() && HasJob(world, index)) return;
    for (const std::string& id : open) CancelJob(session, id);
    session.Sleep(20'000);
  }
}

void Cancel(Session& session, int index, int64_t at) {
  if (at >= session.world.plan().calm) return GiveUp(session, index);
  const std::string job = FindJob(session, NameOf(index));
  if (!job.empty()) CancelJob(session, job);
}

void AddCancels(World& world, int index) {
  const JobPlan& plan = world.plan().jobs[static_cast<size_t>(index)];
  for (const int64_t at : plan.cancel_at) {
    Actor& user = Add(world, "canceller" + std::to_string(index));
    user.Once(
        at, [index, at](Session& session) { Cancel(session, index, at); }, true);
  }
}

void AddMoves(World& world, int index) {
  const JobPlan& plan = world.plan().jobs[static_cast<size_t>(index)];
  for (size_t i = 0; i < plan.move_at.size(); ++i) {
    Actor& user = Add(world, "mover" + std::to_string(index));
    const auto body = [index, number = static_cast<int>(i)](Session& session) {
      const std::string job = FindJob(session, NameOf(index));
      if (!job.empty()) MoveJob(session, index, job, number);
    };
    user.Once(plan.move_at[i], body, true);
  }
}

void Retry(Session& session, int index) {
  for (int tries = 0; tries < 2'000; ++tries) {
    const std::string job = FindJob(session, NameOf(index));
    if (!job.empty()) {
      const auto pass = session.controller->Pass(job);
      if (pass.ok() && IsFinal(pass->job.state)) {
        (void)SubmitJob(session, index, job);
        return;
      }
    }
    session.Sleep(20'000);
  }
}

void AddRetries(World& world, int index) {
  const JobPlan& plan = world.plan().jobs[static_cast<size_t>(index)];
  for (const int64_t at : plan.retry_at) {
    Actor& user = Add(world, "retrier" + std::to_string(index));
    user.Once(
        at, [index](Session& session) { Retry(session, index); }, true);
  }
}

void AddController(World& world, const ControllerPlan& plan, int index) {
  const std::string number = std::to_string(index);
  switch (plan.kind) {
    case ControllerKind::kDaemon:
      Add(world, "daemon" + number).Daemon(plan.begin, plan.end, [plan](Session& session) {
        session.controller->KeepQuietNodes(false);
        for (;;) {
          PassOnce(session);
          session.Sleep(plan.period);
        }
      });
      return;
    case ControllerKind::kTimer:
      Add(world, "timer" + number).Every(plan.begin, plan.period, plan.end, PassOnce);
      return;
    case ControllerKind::kVerb:
      Add(world, "looker" + number).Every(plan.begin, plan.period, plan.end, Look);
      return;
    case ControllerKind::kHousekeeper:
      Add(world, "housekeeper" + number).Every(plan.begin, plan.period, plan.end, KeepHouse);
      return;
    case ControllerKind::kReader:
      Add(world, "reader" + number).Every(plan.begin, plan.period, plan.end, ReaderBody());
      return;
    case ControllerKind::kSweeper:
      Add(world, "sweeper" + number).Every(plan.begin, plan.period, plan.end, SweepExpired);
      return;
    case ControllerKind::kAway:
      std::vector<Actor*> servers;
      for (int i = 0; i < plan.at_once; ++i) {
        servers.push_back(&Add(world, AwayName(index) + "." + std::to_string(i)));
      }
      AddFunction(world, plan, servers);
      return;
  }
}

}  // namespace

void AddActors(World& world) {
  const Plan& plan = world.plan();
  for (int i = 0; i < static_cast<int>(plan.jobs.size()); ++i) {
    AddSubmitter(world, i);
    AddCancels(world, i);
    AddMoves(world, i);
    AddRetries(world, i);
  }
  for (size_t i = 0; i < plan.controllers.size(); ++i) {
    AddController(world, plan.controllers[i], static_cast<int>(i));
  }
}

}  // namespace stoker::sim

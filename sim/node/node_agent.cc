// SPDX-License-Identifier: Apache-2.0
#include "sim/node/node_agent.h"

#include <algorithm>

#include "agent/save_patience.h"
#include "ledger/claims.h"
#include "ledger/records.h"
#include "ledger/reports.h"
#include "spec/parse.h"

namespace stoker::sim {
namespace {

constexpr int64_t kLongestWait = 30'000;
constexpr Duration kRenewEvery = Duration::Minutes(10);
constexpr int64_t kForgets = 30'000;  // as in node/agent.cc

}  // namespace

NodeAgent::NodeAgent(Host& host, Process& process)
    : host_(host),
      process_(process),
      store_(host.world.bucket(), host.world.scheduler(), host.world.rng(), process.name(),
             &host.link),
      clouds_(host.world.cloud(), host.world.scheduler(), host.world.rng(), process.name(),
              &host.link, host.world.number()),
      arrived_(host.world.scheduler()),
      work_arrived_(host.world.scheduler()),
      bell_(host.world.scheduler()),
      news_(host.world.scheduler()),
      tried_now_(host.world.scheduler()) {}

NodeAgent::~NodeAgent() = default;

void NodeAgent::Start() {
  process_.Spawn([this] { Main(); });
}

void NodeAgent::DropProgram() {
  if (run_) run_->DropProgram();
}

template <typename T>
Result<T> NodeAgent::Persist(const std::function<Result<T>()>& call) {
  const int64_t begun = host_.world.now();
  for (int64_t pause = 50;; pause = std::min<int64_t>(pause * 2, 5000)) {
    Result<T> result = call();
    const bool denied = result.code() == Code::kDenied && host_.world.now() - begun < kForgets;
    if (result.ok() || (!result.status().transient() && !denied) || off_) return result;
    Sleep(pause);
  }
}

Status NodeAgent::Prepare() {
  const uint64_t seed = host_.world.rng().Next();
  for (int64_t pause = 50;; pause = std::min<int64_t>(pause * 2, 5000)) {
    auto ledger = Ledger::Open(store_, host_.clock, seed);
    if (ledger.ok()) {
      ledger_ = std::move(*ledger);
      break;
    }
    if (!ledger.status().transient()) return ledger.status();
    Sleep(pause);
  }
  controller_ = std::make_unique<Controller>(
      *ledger_, [this](const std::string& name) { return clouds_.Find(name); }, host_.clock);
  if (host_.world.plan().nodes_ask_own) controller_->AsksOnly(host_.request.ask.place.provider);
  incarnation_ = ledger_->Nonce();
  STOKER_ASSIGN(const JobRead read,
                Persist<JobRead>([&] { return ReadJob(*ledger_, host_.request.job); }));
  job_ = read.job;
  STOKER_ASSIGN(const std::string text,
                Persist<std::string>([&] { return ReadSpec(*ledger_, job_); }));
  STOKER_ASSIGN(spec_, ParseStoredSpec(text));
  return Status::Ok();
}

void NodeAgent::Main() {
  const Status ready = Prepare();
  if (!ready.ok()) return Leave(ready.ToString());
  SupervisorConfig config;
  config.job = host_.request.job;
  config.launch = host_.launch;
  config.instance_id = host_.id;
  config.incarnation = incarnation_;
  config.address = host_.id;
  config.stop_grace = spec_.stop_grace;
  config.max_duration = spec_.limits.max_duration;
  config.stall = spec_.limits.stall;
  config.left_to_others = !MayAct();
  supervisor_ = std::make_unique<Supervisor>(config);
  process_.Spawn([this] { RunWorker(); });
  process_.Spawn([this] { Poll(); });
  process_.Spawn([this] { WriteReports(); });
  process_.Spawn([this] { WatchNotices(); });
  Loop();
}

void NodeAgent::Loop() {
  while (!off_) {
    if (events_.empty()) {
      int64_t wait = kLongestWait;
      if (const auto wake = supervisor_->wake()) {
        wait = std::clamp<int64_t>((*wake - Now().mono).ms, 0, kLongestWait);
      }
      arrived_.Wait(wait);
    }
    if (events_.empty()) {
      Handle(Tick{});
    } else {
      const AgentEvent event = std::move(events_.front());
      events_.pop_front();
      Handle(event);
    }
    const bool moves = !host_.kept;
    if (moves && (!lease_renewed_ || Now().mono - *lease_renewed_ >= kRenewEvery)) {
      lease_renewed_ = Now().mono;
      host_.world.cloud().Renew(host_.id, host_.world.now() + host_.request.limit.ms);
    }
  }
  // The last word must be in the ledger before the machine is gone.
  const MonoTime end = Now().mono + Duration::Seconds(30);
  news_.Notify();
  while (written_ < published_ && Now().mono < end) Sleep(100);
  Leave("nothing more to do");
}

void NodeAgent::Leave(const std::string& why) {
  // By an event of its own: this fiber ends with the machine.
  host_.world.scheduler().In(1, [&world = host_.world, id = host_.id, why] {
    world.cloud().End(id, "powered off: " + why);
  });
}

void NodeAgent::Post(AgentEvent event) {
  events_.push_back(std::move(event));
  arrived_.Notify();
}

void NodeAgent::Handle(const AgentEvent& event) {
  for (const AgentAction& action : supervisor_->Step(event, Now())) {
    std::visit([&](const auto& a) { Do(a); }, action);
  }
  report_ = supervisor_->report();
  if (publishes_ != supervisor_->publishes()) news_.Notify();
  publishes_ = supervisor_->publishes();
}

void NodeAgent::Work(std::function<void()> job) {
  work_.push_back(std::move(job));
  work_arrived_.Notify();
}

void NodeAgent::RunWorker() {
  for (;;) {
    while (work_.empty()) work_arrived_.Wait(3'600'000);
    const auto job = std::move(work_.front());
    work_.pop_front();
    job();
  }
}

std::shared_ptr<NodeAttempt> NodeAgent::RunOf(int attempt, int rank) {
  if (!run_ || run_->attempt() != attempt) {
    if (run_) {
      run_->Close();
      former_.push_back(run_);
      // A notice that stands holds for the next attempt, too.
      if (told_.until) told_.kill_from = *told_.until - told_.lead_ms / 6;
      if (!told_.until) told_.kill_from.reset();
    }
    run_ = std::make_shared<NodeAttempt>(host_, process_, store_, *ledger_, spec_, job_, attempt,
                                         rank);
  }
  return run_;
}

void NodeAgent::Do(const ClaimSlot& action) {
  Work([this, action] { Claim(action.attempt, action.rank); });
}

void NodeAgent::Claim(int attempt, int rank) {
  const ClaimHolder me{host_.id, host_.boot_id, host_.launch, incarnation_};
  auto claim = Result<ClaimRead>(Status(Code::kUnavailable, "not asked yet"));
  for (int64_t pause = 50; !off_; pause = std::min<int64_t>(pause * 2, 5000)) {
    claim = ClaimAttempt(*ledger_, host_.request.job, attempt, rank, me);
    if (claim.ok() || claim.status().Is(Code::kCorrupt)) break;
    Sleep(pause);
  }
  ClaimAnswered answer;
  answer.attempt = attempt;
  if (claim.ok() && claim->result == ClaimResult::kWon) answer.outcome = ClaimOutcome::kWon;
  if (claim.ok() && claim->result == ClaimResult::kOursBefore) {
    answer.outcome = ClaimOutcome::kOursBefore;
    answer.rebooted = claim->holder.boot_id != me.boot_id;
    const auto before =
        Persist<NodeReport>([&] { return ReadReport(*ledger_, host_.request.job, attempt, rank); });
    if (before.ok()) answer.previous = *before;
  }
  Post(answer);
}

void NodeAgent::Do(const StageNode& action) {
  const auto run = RunOf(action.attempt, action.rank);
  Work([this, action, run] {
    StagingEnded ended = run->Stage(action.restore);
    ended.attempt = action.attempt;
    Post(std::move(ended));
  });
}

void NodeAgent::Do(const CancelStaging&) {
  if (run_) run_->CancelStaging();
}

void NodeAgent::Do(const StartProgram& action) {
  const auto run = RunOf(action.attempt, action.rank);
  const Status status =
      run->Start([this](TaskExit exit) { Post(ProgramEnded{exit}); }, [this] { Post(Activity{}); },
                 [this, attempt = action.attempt](const std::string& why) {
                   Post(RuleBroken{attempt, why});
                 });
  const int64_t slow = host_.world.PlanOf(host_.request.job)->program.spawn_ms;
  if (slow > 0) {
    const int64_t time = host_.world.rng().Between(0, slow);
    Sleep(time);
  }
  Post(ProgramStarted{status});
}

void NodeAgent::Do(const AskForCheckpoint&) {
  if (!run_) return;
  const std::optional<Notice>& notice = supervisor_->report().notice;
  if (notice && notice->action == kMoveAction) SeeSaving();
  run_->Hurry();
}

void NodeAgent::Do(const TerminateProgram&) {
  if (run_) run_->Terminate(WhyToEnd());
}

void NodeAgent::Do(const KillProgram&) {
  if (run_) Work([this, run = run_] { run->Kill(WhyToEnd()); });
}

void NodeAgent::Do(const CheckEnd&) {
  Work([this] {
    const int64_t there = host_.world.rng().Between(1, 200);
    Sleep(there);
    const auto notice = NoticeNow();
    const int64_t back = host_.world.rng().Between(0, 100);
    Sleep(back);
    Post(EndChecked{notice.has_value() || host_.shutting_down});
  });
}

void NodeAgent::Do(const FinalizeAttempt& action) {
  const int rank = supervisor_->report().rank;
  Work([this, action, rank] { Finalize(action, rank); });
}

void NodeAgent::Finalize(FinalizeAttempt action, int rank) {
  const auto run = RunOf(action.attempt, rank);
  SavePatience patience(run->saved(), host_.clock.Mono());  // as node/agent.cc
  for (int64_t pause = 100;; pause = std::min<int64_t>(pause * 2, 5000)) {
    if (run->Finalize(action).ok() || off_) break;
    const auto until = supervisor_->saves_until();
    const bool hurried = until && host_.clock.Mono() >= *until;
    if (patience.Ends(run->saved(), hurried, host_.clock.Mono())) break;
    Sleep(pause);
    if (action.deadline) action.deadline = LaterDeadline(*action.deadline, host_.clock.Mono());
  }
  Post(Finalized{action.attempt});
}

void NodeAgent::Do(const Publish&) {
  report_ = supervisor_->report();
  have_report_ = true;
  ++published_;
  news_.Notify();
  bell_.Notify();
}

void NodeAgent::Do(const Hurry&) { bell_.Notify(); }
// As provider/cloud/cloud_platform.cc.
void NodeAgent::Do(const KeepMachine& action) {
  host_.kept = true;
  const Duration left = action.until - host_.clock.Wall();
  host_.world.cloud().Renew(host_.id, host_.world.now() + left.ms);
}

void NodeAgent::Do(const PowerOff&) { off_ = true; }

}  // namespace stoker::sim

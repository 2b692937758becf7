// SPDX-License-Identifier: Apache-2.0
#include "node/agent.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <set>

#include "agent/save_patience.h"
#include "base/text.h"
#include "ledger/claims.h"
#include "ledger/paths.h"
#include "ledger/records.h"
#include "ledger/reports.h"
#include "node/gpus/gpus.h"
#include "node/owner_cancel.h"
#include "provider/local/local_boot.h"
#include "provider/local/local_private.h"
#include "spec/parse.h"
#include "sys/start_pages.h"

namespace stoker::node {
namespace {

constexpr int64_t kLongestWait = 1000;
constexpr Duration kShipLeftWithin = Duration::Seconds(30);  // of each attempt
constexpr Duration kRenewEvery = Duration::Minutes(10);
// What was on its way when an agent died is asked for some seconds later (agent/mirror/).
constexpr Duration kCloudLogsWithin = Duration::Seconds(10);
constexpr Duration kForgets = Duration::Seconds(30);
constexpr Duration kSettles = Duration::Ms(500);
// A machine that shuts down signals one process after the other.
constexpr Duration kShutdownLate = Duration::Ms(500);
constexpr Duration kWorthTelling = Duration::Seconds(1);
constexpr Duration kGpusEvery = Duration::Seconds(5);  // as they are asked

// Tries `call` until it succeeds or fails for good; the store may be away for long. A service can
// forget for a moment who may ask: that is given kForgets.
template <typename T>
Result<T> Persist(const std::atomic<bool>& stop, Clock& clock,
                  const std::function<Result<T>()>& call) {
  int64_t pause = 50;
  const MonoTime begun = clock.Mono();
  for (;;) {
    Result<T> result = call();
    const bool denied = result.code() == Code::kDenied && clock.Mono() - begun < kForgets;
    if (result.ok() || (!result.status().transient() && !denied) || stop) return result;
    std::this_thread::sleep_for(std::chrono::milliseconds(pause));
    pause = std::min<int64_t>(pause * 2, 5000);
  }
}

// Those that this machine was given of a computer that several share; unset: it has all.
std::optional<std::set<int>> OwnGpus() {
  const char* given = std::getenv(kGrantedGpus);
  return GrantedNumbers(given != nullptr ? given : "");
}

}  // namespace

Agent::Agent(NodeParts parts, std::string cache_dir)
    : parts_(std::move(parts)),
      me_(parts_.platform.identity()),
      cache_dir_(std::move(cache_dir)),
      incarnation_(parts_.ledger.Nonce()),
      usage_(parts_.store, parts_.clock, OwnGpus()) {
  poller_ = std::make_unique<Poller>(
      parts_.ledger, parts_.controller, parts_.clock, me_.request.job, me_.launch,
      [this](AgentEvent event) { Post(std::move(event)); },
      [this](NodeReport& report) { CompleteReport(report); },
      [this](const std::string& why) {
        if (off_) return;
        gone_why_ = why;
        off_ = true;
        Post(Tick{});
      });
  notices_ = std::make_unique<NoticeWatch>(
      parts_.platform, parts_.clock, parts_.platform.traits().notice_poll,
      [this](const std::optional<Notice>& notice) {
        std::shared_ptr<AttemptRun> run;
        {
          const std::lock_guard lock(run_mutex_);
          run = run_;
        }
        Post(NoticeRead{notice});  // first: looking at the program may take long
        Saving saving;
        if (run && notice) saving = run->running.SavingNow(ended_unsaved_);
        Post(SavingSeen{saving});
        if (!run) return;
        run->running.SayNotice(notice, saving);
        if (!notice) return;
        const Duration left = notice->until - parts_.clock.Wall();
        run->hooks.Noticed(*notice, left - PlanDrain(left, saving).kill_before);
      },
      [this](const PlatformAdvice& advice) {
        std::shared_ptr<AttemptRun> run;
        {
          const std::lock_guard lock(run_mutex_);
          run = run_;
        }
        if (run) run->running.Heed(advice);
      });
}

Agent::~Agent() {
  off_ = true;
  poller_.reset();  // its last report asks the watch for its trouble
  notices_.reset();
  {
    const std::lock_guard lock(run_mutex_);
    if (run_) run_->hooks.Leave();
  }
  work_.Close();
  if (worker_.joinable()) worker_.join();
}

// Whether its disk stays, nobody says in time: whoever looks sees a machine that is gone.
void Agent::MachineStops(Duration left) {
  notices_->MachineStops(left, comes_up_again_ ? "stop" : "terminate");
}

void Agent::Say(const std::string& line) {
  std::shared_ptr<AttemptRun> run;
  {
    const std::lock_guard lock(run_mutex_);
    run = run_;
  }
  if (run) run->here.log.Say(line);
}

void Agent::SignalsMayBeLate(Duration late) { notices_->SignalsMayBeLate(late); }

void Agent::PlatformSignals() {
  Post(ProgramSignalled{true});
  notices_->Ask();
}

Status Agent::LearnSpec() {
  STOKER_ASSIGN(const JobRead read, Persist<JobRead>(off_, parts_.clock, [&] {
                  learned_at_ = Now();
                  return ReadJob(parts_.ledger, me_.request.job);
                }));
  job_ = read.job;
  STOKER_ASSIGN(const std::string text, Persist<std::string>(off_, parts_.clock, [&] {
                  return ReadSpec(parts_.ledger, job_);
                }));
  STOKER_ASSIGN(spec_, ParseStoredSpec(text));
  return Status::Ok();
}

Status Agent::Run() {
  STOKER_TRY(LearnSpec());
  comes_up_again_ = spec_.on_stop == OnStop::kRestart;
  SupervisorConfig config;
  config.job = me_.request.job;
  config.launch = me_.launch;
  config.instance_id = me_.instance_id;
  config.incarnation = incarnation_;
  config.address = me_.address;
  config.stop_grace = spec_.stop_grace;
  config.max_duration = spec_.limits.max_duration;
  config.stall = spec_.limits.stall;
  config.left_to_others = spec_.recovery == RecoveryMode::kController;
  supervisor_ = std::make_unique<Supervisor>(config);
  if (spec_.limits.idle_gpu) {
    idle_gpu_.emplace(spec_.limits.idle_gpu->below, spec_.limits.idle_gpu->span);
  }
  // A healthy agent keeps its machine; a dead or stopped one meets the limit.
  if (const Duration lease = me_.request.limit; lease.ms > 0) {  // else it cannot be renewed
    lease_ = std::make_unique<LeaseKeeper>(parts_.platform, parts_.clock, lease,
                                           std::min(kRenewEvery, lease / 4));
  }
  BeginCloudLogs();
  worker_ = std::thread([this] { RunWorker(); });
  poller_->Start(!config.left_to_others);
  Handle(RecordRead{job_, learned_at_, {}, false});  // the first pass would be some milliseconds
  while (!off_) {
    int64_t wait = kLongestWait;
    if (const auto wake = supervisor_->wake()) {
      wait = std::clamp<int64_t>((*wake - Now().mono).ms, 0, kLongestWait);
    }
    if (settles_at_) {
      wait = std::clamp<int64_t>((*settles_at_ - parts_.clock.Mono()).ms, 0, wait);
    }
    auto event = events_.Take(wait);
    Handle(event ? *event : AgentEvent(Tick{}));
    if (lease_) lease_->Alive();
    if (idle_gpu_) WatchGpus();
    if (settles_at_ && parts_.clock.Mono() >= *settles_at_) {
      settles_at_.reset();
      LetGoOfStartPages();
    }
    TellDoing();
  }
  if (!gone_why_.empty()) {
    Do(CancelStaging{});
    return Status(Code::kNotFound, gone_why_ + "; the program is ended, and this machine");
  }
  ShipLeft();
  // The last word must be in the ledger before the machine is gone.
  poller_->Settle(Duration::Seconds(30));
  ForgetOwn();
  // All that anybody waits for is done.
  if (cloud_logs_ && !cloud_logs_->Finish(kCloudLogsWithin) && supervisor_->publishes()) {
    poller_->Publish(supervisor_->report());  // with the trouble
    poller_->Settle(Duration::Seconds(5));
  }
  return Status::Ok();
}

// One that was down while others ended its attempt leaves with lines that are nowhere else.
void Agent::ShipLeft() {
  auto spools = sys::ListDir(me_.dir);
  if (!spools.ok()) return;
  std::erase_if(*spools, [](const auto& entry) { return !StartsWith(entry.name, kSpoolPrefix); });
  if (spools->empty()) return;
  const auto read = ReadJob(parts_.ledger, me_.request.job);
  if (!read.ok()) return;
  for (const sys::DirEntry& entry : *spools) {
    const auto number = WholeNumber(entry.name.substr(sizeof kSpoolPrefix - 1), 1, 1 << 30);
    const Attempt* attempt = number ? FindAttempt(read->job, static_cast<int>(*number)) : nullptr;
    if (attempt == nullptr || (run_ && run_->here.config.attempt == attempt->number)) continue;
    const auto lines = sys::ListDir(me_.dir + "/" + entry.name);
    const auto& launches = attempt->launches;
    const auto mine = std::find(launches.begin(), launches.end(), me_.launch);
    if (!lines.ok() || lines->empty() || mine == launches.end()) continue;
    AttemptLog left(parts_.store, parts_.clock, me_.dir,
                    LogPlace{job_.id, attempt->number, static_cast<int>(mine - launches.begin())});
    const auto one_try = [] { return true; };
    if (left.Open(one_try).ok()) (void)left.pump().ShipAll(kShipLeftWithin);
  }
}

// limits.idle_gpu, as a rule of the job.
void Agent::WatchGpus() {
  const MonoTime now = parts_.clock.Mono();
  if (supervisor_->phase() != AgentPhase::kRunning) {
    gpus_looked_.reset();
    return;
  }
  if (gpus_looked_ && now - *gpus_looked_ < kGpusEvery) return;
  const int attempt = supervisor_->report().attempt;
  const auto run = RunOf(attempt, supervisor_->report().rank);
  if (!gpus_looked_) {
    idle_gpu_->Begin(now);
    if (!usage_.has_gpus()) {
      run->here.log.Say(
          OwnGpus().value_or(std::set<int>{0}).empty()
              ? "stoker: limits: idle_gpu: this node has no GPU to watch"
              : "stoker: limits: idle_gpu: nvidia-smi is not here, so nobody watches this "
                "node");
    }
  }
  gpus_looked_ = now;
  const auto why = idle_gpu_->Take(now, BusiestGpu(usage_.LatestGpus(), std::nullopt));
  if (!why) return;
  run->here.log.Say("stoker: limits: this stops the run: " + *why);
  Handle(RuleBroken{attempt, *why});
}

// With the job its secrets end.
void Agent::ForgetOwn() {
  const std::string& ledger = parts_.ledger.id();
  if (ReadLocalPrivate(parts_.platform.traits().state_dir, ledger, me_.request.job)
          .status()
          .Is(Code::kNotFound))
    return;
  if (TellsBySecret(spec_.notify) && parts_.ledger.store().Head(paths::Active(job_.id)).ok())
    return;
  const auto read = ReadJob(parts_.ledger, me_.request.job);
  if (read.ok() && IsFinal(read->job.state)) {
    (void)RemoveLocalPrivate(parts_.platform.traits().state_dir, ledger, me_.request.job);
  }
}

void Agent::Handle(const AgentEvent& event) {
  for (const AgentAction& action : supervisor_->Step(event, Now())) {
    std::visit([&](const auto& a) { Do(a); }, action);
  }
  const bool noticed = supervisor_->report().notice.has_value();
  if (noticed_ && !noticed) {  // also a move that was given up
    const std::lock_guard lock(run_mutex_);
    if (run_) run_->hooks.Withdrawn();
  }
  noticed_ = noticed;
  ended_unsaved_ = supervisor_->ended_unsaved();
  const auto until = supervisor_->saves_until();
  if (until && parts_.clock.Mono() >= *until) {
    const std::lock_guard lock(run_mutex_);
    if (run_) run_->finalizing.SaveNoLonger();
  }
  poller_->Refresh(supervisor_->report(), supervisor_->publishes());
  TellGathers();
}

// To the machine, which may give way (provider/local/local_give_way.h).
void Agent::TellGathers() {
  const bool gathers = supervisor_->gathers();
  if (gathers_ == gathers) return;
  const std::string mark = LocalGathers(me_.dir);
  if (gathers) {
    gathers_ = sys::WriteFileAtomic(mark, "", 0600, false).ok();
  } else if (unlink(mark.c_str()) == 0 || errno == ENOENT) {
    gathers_ = false;
  }
}

// What takes a moment is not worth a report of its own.
void Agent::TellDoing() {
  std::string doing;
  {
    const std::lock_guard lock(run_mutex_);
    if (run_ && run_->here.config.attempt == supervisor_->report().attempt)
      doing = run_->here.log.doing();
  }
  const MonoTime now = parts_.clock.Mono();
  if (doing != doing_) doing_since_ = now;
  doing_ = doing;
  if (doing.empty()) doing_told_.clear();
  if (doing == doing_told_ || now - doing_since_ < kWorthTelling) return;
  if (!supervisor_->publishes()) return;
  doing_told_ = doing;
  poller_->Publish(supervisor_->report());
}

void Agent::RunWorker() {
  for (;;) {
    auto job = work_.Take(kLongestWait);
    if (job)
      (*job)();
    else if (work_.closed())
      return;
  }
}

std::shared_ptr<AttemptRun> Agent::RunOf(int attempt, int rank) {
  const std::lock_guard lock(run_mutex_);
  if (!run_ || run_->here.config.attempt != attempt) {
    std::function<void(AttemptLog::Shipped)> log_opened;
    if (cloud_logs_) {
      log_opened = [this, attempt, rank](AttemptLog::Shipped shipped) {
        cloud_logs_->Follow(attempt, rank, std::move(shipped));
      };
    }
    run_ = std::make_shared<AttemptRun>(
        AttemptParts{parts_.store, parts_.ledger, parts_.runner, parts_.clock},
        AttemptConfig{spec_, job_, me_.launch, attempt, rank, me_.dir, cache_dir_,
                      parts_.platform.traits().state_dir, parts_.platform.traits().work_dir,
                      me_.address, parts_.limiter, me_.gpus, me_.request.ask.place,
                      parts_.platform.traits().own_system, log_opened});
  }
  return run_;
}

void Agent::BeginCloudLogs() {
  if (!spec_.logs.cloud || !parts_.cloud_log) return;
  CloudLogPlace place;
  place.ledger = parts_.ledger.id();
  place.job = job_.id;
  place.place = me_.request.ask.place;
  place.instance_id = me_.instance_id;
  place.days = spec_.logs.days.value_or(LogsSpec::kDays);
  CloudLogsConfig config;
  config.job = job_.id;
  config.dir = me_.dir;
  config.open = [this, place](int attempt, int rank) mutable {
    place.attempt = attempt;
    place.rank = rank;
    return parts_.cloud_log(place, parts_.store);
  };
  config.say = [this](const std::string& line) { Say(line); };
  cloud_logs_ = std::make_unique<CloudLogs>(parts_.store, parts_.clock, std::move(config));
}

void Agent::Do(const ClaimSlot& action) {
  work_.Post([this, action] { Claim(action.attempt, action.rank); });
}

void Agent::Claim(int attempt, int rank) {
  const ClaimHolder me{me_.instance_id, me_.boot_id, me_.launch, incarnation_};
  auto claim = Result<ClaimRead>(Status(Code::kUnavailable, "not asked yet"));
  for (int64_t pause = 50; !off_; pause = std::min<int64_t>(pause * 2, 5000)) {
    claim = ClaimAttempt(parts_.ledger, me_.request.job, attempt, rank, me);
    // A store that cannot be written (full, read-only) may be mended; nobody has the slot
    // meanwhile.
    if (claim.ok() || claim.status().Is(Code::kCorrupt)) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(pause));
  }
  ClaimAnswered answer;
  answer.attempt = attempt;
  if (claim.ok() && claim->result == ClaimResult::kWon) answer.outcome = ClaimOutcome::kWon;
  if (claim.ok() && claim->result == ClaimResult::kOursBefore) {
    answer.outcome = ClaimOutcome::kOursBefore;
    answer.rebooted = claim->holder.boot_id != me.boot_id;
    const auto before = Persist<NodeReport>(off_, parts_.clock, [&] {
      return ReadReport(parts_.ledger, me_.request.job, attempt, rank);
    });
    if (before.ok()) answer.previous = *before;
    if (before.ok() && before->phase == NodePhase::kEnded)
      RunOf(attempt, rank)->finalizing.AllIsSaved();
  }
  Post(answer);
}

void Agent::Do(const StageNode& action) {
  // Made here, so that a cancel that comes before the worker begins finds it.
  const auto run = RunOf(action.attempt, action.rank);
  work_.Post([this, action, run] {
    StagingEnded ended = run->staging.Stage(action.restore);
    ended.attempt = action.attempt;
    Post(std::move(ended));
  });
}

void Agent::Do(const CancelStaging&) {
  const std::lock_guard lock(run_mutex_);
  if (run_) run_->staging.Cancel();
}

void Agent::Do(const StartProgram& action) {
  const auto run = RunOf(action.attempt, action.rank);
  const auto ended = [this](TaskExit exit) {
    Post(ProgramEnded{exit, parts_.limiter != nullptr ? parts_.limiter->exceeded() : 0});
  };
  const auto broken = [this, attempt = action.attempt](const std::string& why) {
    Post(RuleBroken{attempt, why});
  };
  settles_at_ = parts_.clock.Mono() + kSettles;
  const Status status = run->running.Start(
      action, run->staging.staged(), ended, [this] { Post(Activity{}); }, broken);
  Post(ProgramStarted{status});
}

void Agent::Do(const AskForCheckpoint&) {
  const std::lock_guard lock(run_mutex_);
  if (!run_) return;
  const std::optional<Notice>& notice = supervisor_->report().notice;
  if (notice && notice->action == kMoveAction) {
    const Saving saving = run_->running.SavingNow(ended_unsaved_);
    Post(SavingSeen{saving});
    run_->running.SayMove(*notice, saving);
    run_->hooks.Noticed(*notice, notice->until - parts_.clock.Wall());
  }
  if (run_->running.AskForCheckpoint() && notice) {
    Post(ProgramSignalled{spec_.checkpoints.signal == "SIGTERM"});
  }
}

void Agent::Do(const TerminateProgram&) {
  const std::lock_guard lock(run_mutex_);
  if (run_) run_->running.Terminate();
}

void Agent::Do(const KillProgram&) {
  std::shared_ptr<AttemptRun> run;
  {
    const std::lock_guard lock(run_mutex_);
    run = run_;
  }
  if (run) work_.Post([run] { run->running.Kill(); });
}

void Agent::Do(const CheckEnd& action) {
  const Duration late = action.killed ? kShutdownLate : Duration();
  work_.Post([this, late] { Post(EndChecked{notices_->TakenNow(late)}); });
}

void Agent::Do(const FinalizeAttempt& action) {
  const int rank = supervisor_->report().rank;
  work_.Post([this, action = action, rank]() mutable {
    const auto run = RunOf(action.attempt, rank);
    SavePatience patience(run->keepers.saved(), parts_.clock.Mono());
    for (int64_t pause = 100;; pause = std::min<int64_t>(pause * 2, 5000)) {
      if (run->finalizing.Finalize(action).ok()) break;
      // Leaving is the end of the machine's folder, too.
      if (off_ ||
          patience.Ends(run->keepers.saved(), run->finalizing.hurried(), parts_.clock.Mono())) {
        run->finalizing.GiveUp();
        break;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(pause));
      if (action.deadline) action.deadline = LaterDeadline(*action.deadline, parts_.clock.Mono());
    }
    Post(Finalized{action.attempt});
  });
}

void Agent::Do(const Publish&) { poller_->Publish(supervisor_->report()); }
void Agent::Do(const Hurry&) { poller_->Hurry(); }

void Agent::Do(const KeepMachine& action) {
  if (lease_) lease_->Keep(action.until);
}

void Agent::Do(const PowerOff& action) {
  if (action.unusual) off_why_ = action.why;
  off_ = true;
}

void Agent::CompleteReport(NodeReport& report) {
  if (report.notice || report.end) {
    const bool over = report.end.has_value();
    if (parts_.platform.IsEndedByOwner(over, [this] { return off_.load(); })) {
      (void)CancelByOwner(parts_.ledger, me_);
    }
  }
  UsageInput look;
  {
    const std::lock_guard lock(run_mutex_);
    if (run_ && run_->here.config.attempt == report.attempt) look = run_->Complete(report);
  }
  parts_.platform.Tell(&report);
  usage_.Sample(report, me_.dir, look);
  for (const std::string& more :
       {notices_->trouble(), cloud_logs_ ? cloud_logs_->trouble() : std::string()}) {
    if (!more.empty()) report.trouble += (report.trouble.empty() ? "" : "; ") + more;
  }
}

}  // namespace stoker::node

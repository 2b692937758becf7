// SPDX-License-Identifier: Apache-2.0
#include "provider/slurm/slurm_platform.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "base/text.h"
#include "provider/slurm/slurm_ask.h"
#include "provider/slurm/slurm_folder.h"
#include "provider/slurm/slurm_job.h"
#include "provider/slurm/slurm_judge.h"
#include "provider/slurm/slurm_tools.h"
#include "sys/file.h"

namespace stoker {
namespace {

// An administrator may change a job's time limit while it runs.
constexpr Duration kLookEvery = Duration::Seconds(60);
constexpr Duration kLookWhenSignalled = Duration::Seconds(2);
constexpr Duration kUsualLead = Duration::Minutes(2);  // as EC2 gives
constexpr Duration kAir = Duration::Seconds(1);
constexpr Duration kNoKillWait = Duration::Seconds(5);  // until Slurm has told
constexpr Duration kAwaitMost = Duration::Seconds(10);
constexpr Duration kAskLeast = Duration::Seconds(2);
constexpr std::chrono::milliseconds kBetweenAsks{250};
constexpr size_t kMostReason = 4096;
// Slurm signals the processes of a step one after the other: on a busy node a program may be gone
// before its agent has heard of it, and would count as one that failed.
constexpr Duration kSignalLate = Duration::Ms(1500);

PlatformTraits TraitsFor(const SlurmFolder& folder) {
  PlatformTraits traits;
  traits.state_dir = folder.state();
  traits.work_dir = traits.state_dir + "/work";
  traits.notice_poll = Duration::Seconds(1);
  traits.signals_program = kSignalLate;
  return traits;
}

class Host : public SlurmPlatform {
 public:
  Host(NodeIdentity identity, SlurmFolder folder, SlurmAsk ask, int64_t job, Clock& clock)
      : SlurmPlatform(std::move(identity), TraitsFor(folder)),
        folder_(std::move(folder)),
        ask_(std::move(ask)),
        job_(job),
        tools_(""),
        clock_(clock) {}

  Result<std::optional<Notice>> PollNotice() override {
    const std::lock_guard lock(mutex_);
    std::optional<WallTime> until;
    const auto earlier = [&](WallTime time) { until = until ? std::min(*until, time) : time; };
    const auto drill = folder_.ReadNotice();
    if (drill.ok() && *drill) earlier((*drill)->until);
    // At first without asking Slurm, which may take a moment.
    const std::optional<WallTime> signalled = SignalledAt();
    const bool just = signalled && !told_;
    if (!just) Look();
    if (signalled) earlier(EndOfSignalled(*signalled));
    told_ = signalled.has_value();
    if (row_ && row_->ends.ms > 0 && row_->started.ms > 0) {
      const Duration lead = SlurmLead(row_->ends - row_->started, ask_.notice.value_or(Duration()));
      if (clock_.Wall() >= row_->ends - lead) earlier(row_->ends);
    }
    if (!until) return std::optional<Notice>();
    return std::optional<Notice>(Notice{"terminate", *until});
  }

  Status Renew(WallTime deadline) override {
    return folder_.KeepNode(identity_.index, {identity_.address, deadline});
  }

  // Its node process ends when its agent has ended well.
  Status PowerOff(const std::string& why) override {
    if (why.empty()) return Status::Ok();
    return sys::WriteFileAtomic(identity_.dir + "/why", CutText(why, kMostReason), 0600, false);
  }

  // It is preempted, its time is over, or somebody cancels it: a notice follows at the next poll.
  void Signalled() override {
    int64_t none = 0;
    signalled_.compare_exchange_strong(none, clock_.Wall().ms);
  }

  // Slurm's signal is the same where a person cancels the job and where it takes the node. Nobody
  // hears of it before that is known, were it only for lack of an answer: a successor would be
  // asked for.
  bool IsEndedByOwner(bool over, const std::function<bool()>& stop) override {
    const auto end = AwaitEnder(over, stop);
    return end && end->by == SlurmEnder::kOwner;
  }

  std::optional<SlurmEnd> AwaitEnder(bool over, const std::function<bool()>& stop) override {
    const std::optional<WallTime> signalled = SignalledAt();
    if (!signalled) return std::nullopt;
    // What anybody has read of Slurm's queue before is old.
    if (!marked_.exchange(true)) folder_.Signalled(identity_.index);
    const WallTime until = *signalled + std::min(kAwaitMost, Leaves());
    while (!stop()) {
      if (auto end = folder_.End()) return end;
      const auto row =
          tools_.Job(job_, identity_.request.token, std::max(until - clock_.Wall(), kAskLeast));
      const bool answered = row.ok() && *row;
      const auto who = answered ? WhoEndedSlurmJob(**row, folder_.Traces()) : std::nullopt;
      if (who) {
        (void)folder_.KeepEnd(*who);
        return folder_.End().value_or(*who);  // somebody may have been first
      }
      // Where there is no such program, others see to it.
      if (row.status().Is(Code::kDenied)) break;
      if (clock_.Wall() >= until && (answered || !over)) break;
      std::this_thread::sleep_for(kBetweenAsks);
    }
    return std::nullopt;
  }

 private:
  std::optional<WallTime> SignalledAt() const {
    const int64_t at = signalled_;
    return at == 0 ? std::nullopt : std::optional(WallTime{at});
  }

  // From the signal to SIGKILL, less the time for last words.
  Duration Leaves() const {
    const int64_t told = kill_wait_ms_;
    return std::max((told == 0 ? kNoKillWait : Duration::Ms(told)) - kAir, kAir);
  }

  void Look() {
    const MonoTime now = clock_.Mono();
    if (kill_wait_ms_ == 0) kill_wait_ms_ = tools_.KillWait().ms;
    const Duration every = SignalledAt() ? kLookWhenSignalled : kLookEvery;
    if (looked_ && now - *looked_ < every) return;
    looked_ = now;
    const auto row = tools_.Job(job_, identity_.request.token);
    // No answer says nothing, and a controller that is away ends nobody.
    if (!row.ok() || !*row) return;
    row_ = **row;
    if (row_->Has("RUNNING")) folder_.KeepBegun(row_->started);
  }

  // A job that is preempted may have time of grace, which squeue shows as its new end. The program
  // has had its signal, but may go on.
  WallTime EndOfSignalled(WallTime signalled) const {
    if (told_ && row_ && row_->preempted && row_->Has("RUNNING") && row_->ends > clock_.Wall()) {
      return row_->ends;
    }
    return signalled + Leaves();
  }

  const SlurmFolder folder_;
  const SlurmAsk ask_;
  const int64_t job_;
  SlurmTools tools_;
  Clock& clock_;
  // Not under the lock, which is held while Slurm is asked.
  std::atomic<int64_t> signalled_{0};     // when, in ms; 0 = not
  std::atomic<int64_t> kill_wait_ms_{0};  // 0 = not known yet
  std::atomic<bool> marked_{false};
  std::mutex mutex_;
  bool told_ = false;
  std::optional<MonoTime> looked_;
  std::optional<SlurmJobSeen> row_;
};

}  // namespace

std::string SlurmVariable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

Duration SlurmLead(Duration limit, Duration asked) {
  const Duration most = limit / 4;
  return std::min(asked.ms > 0 ? asked : kUsualLead, most);
}

Result<std::unique_ptr<NodePlatform>> FindSlurmPlatform(const std::string& dir, Clock& clock) {
  if (std::getenv(kSlurmFolder) == nullptr) return std::unique_ptr<NodePlatform>();
  STOKER_ASSIGN(auto platform, MakeSlurmPlatform(dir, clock));
  return std::unique_ptr<NodePlatform>(std::move(platform));
}

Result<std::unique_ptr<SlurmPlatform>> MakeSlurmPlatform(const std::string& dir, Clock& clock) {
  STOKER_ASSIGN(LaunchRequest request, ParseSlurmRequest(SlurmVariable(kSlurmRequest)));
  STOKER_ASSIGN(SlurmAsk ask, ParseSlurmAsk(request.ask.options));
  const auto job = WholeNumber(SlurmVariable("SLURM_JOB_ID"), 1, kMostSlurmJob);
  const auto index = WholeNumber(SlurmVariable("SLURM_NODEID"), 0,
                                 static_cast<int64_t>(request.launches.size()) - 1);
  const std::string path = SlurmVariable(kSlurmFolder);
  if (!job || !index || path.empty()) {
    return Status(Code::kInvalid, "this is no node of a Slurm job of stoker's");
  }
  const SlurmFolder folder(path);
  NodeIdentity identity;
  identity.index = static_cast<int>(*index);
  identity.launch = request.launches[static_cast<size_t>(*index)];
  identity.instance_id = SlurmInstanceId(*job, static_cast<size_t>(*index), request.token);
  identity.request = std::move(request);
  identity.boot_id = sys::BootId();
  const auto node = folder.Node(identity.index);
  identity.address = node ? node->address : SlurmVariable("SLURMD_NODENAME");
  identity.dir = dir;
  return std::unique_ptr<SlurmPlatform>(
      std::make_unique<Host>(std::move(identity), folder, std::move(ask), *job, clock));
}

}  // namespace stoker

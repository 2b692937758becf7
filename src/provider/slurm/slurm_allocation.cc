// SPDX-License-Identifier: Apache-2.0
#include "provider/slurm/slurm_allocation.h"

#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>

#include "base/text.h"
#include "sys/file.h"
#include "sys/task/process_table.h"

namespace stoker {
namespace {

constexpr std::string_view kTieWord = "slurm=";
constexpr std::string_view kOutliveWord = "outlive=yes";
constexpr std::string_view kJobFolder = "/job_";
constexpr char kStepDaemon[] = "slurmstepd";
constexpr Duration kMostLead = Duration::Minutes(1);
constexpr int kMostAncestors = 64;
constexpr int64_t kMostProc = 1 << 16;

// A line "SigCgt:\t0000000180014a07" of /proc/PID/status.
bool CatchesTerm(pid_t pid) {
  const auto status = sys::ReadFile("/proc/" + std::to_string(pid) + "/status", kMostProc);
  if (!status.ok()) return false;
  const size_t at = status->find("\nSigCgt:");
  if (at == std::string::npos) return false;
  const uint64_t caught = std::strtoull(status->c_str() + at + 8, nullptr, 16);
  return (caught >> (SIGTERM - 1) & 1) != 0;
}

std::optional<int64_t> JobOfProcess(pid_t pid) {
  const auto text = sys::ReadFile("/proc/" + std::to_string(pid) + "/cgroup", kMostProc);
  return text.ok() ? SlurmJobOfCgroup(*text) : std::nullopt;
}

}  // namespace

std::string AllocationName(int64_t job) { return "Slurm's job " + std::to_string(job); }

std::string EncodeTie(const AllocationTie& tie) {
  return std::string(kTieWord) + std::to_string(tie.job) +
         (tie.outlive ? " " + std::string(kOutliveWord) : "");
}

std::optional<AllocationTie> ParseTie(std::string_view options) {
  AllocationTie tie;
  for (const std::string& word : Split(std::string(options), ' ')) {
    if (word == kOutliveWord) tie.outlive = true;
    if (!StartsWith(word, kTieWord)) continue;
    tie.job = WholeNumber(word.substr(kTieWord.size()), 1, kMostSlurmJob).value_or(0);
  }
  if (tie.job == 0) return std::nullopt;
  return tie;
}

// "0::/system.slice/slurmstepd.scope/job_12/step_batch/user/task_0", or
// "5:freezer:/slurm/uid_1000/job_12/step_batch".
std::optional<int64_t> SlurmJobOfCgroup(std::string_view content) {
  for (const std::string& line : Split(std::string(content), '\n')) {
    if (line.find("slurm") == std::string::npos) continue;
    const size_t at = line.find(kJobFolder);
    if (at == std::string::npos) continue;
    const size_t from = at + kJobFolder.size();
    const std::string number = line.substr(from, line.find('/', from) - from);
    if (const auto job = WholeNumber(number, 1, kMostSlurmJob)) return job;
  }
  return std::nullopt;
}

std::optional<SlurmInside> SlurmInsideHere() {
  SlurmInside inside;
  const auto held = JobOfProcess(getpid());
  const char* told = std::getenv("SLURM_JOB_ID");
  const auto named = told != nullptr ? WholeNumber(told, 1, kMostSlurmJob) : std::nullopt;
  // Of most processes: nothing else is looked at.
  if (!held && !named) return std::nullopt;
  auto one = ReadProcessStat(getpid());
  std::string dies;
  for (int i = 0; one && one->parent > 1 && i < kMostAncestors; ++i) {
    one = ReadProcessStat(one->parent);
    if (!one) break;
    if (StartsWith(one->comm, kStepDaemon)) {
      inside.stepd = one->pid;
      inside.stepd_began = one->start_ticks;
      break;
    }
    dies = CatchesTerm(one->pid) ? "" : one->comm;  // that of the step comes last
  }
  if (held) {
    inside.job = *held;
  } else if (named && inside.stepd != 0) {
    inside.job = *named;
  } else {
    return std::nullopt;
  }
  if (inside.stepd != 0) inside.dies_first = dies;
  return inside;
}

bool IsHeldBySlurm(int64_t job) { return JobOfProcess(getpid()) == job; }

bool StepLives(int stepd, uint64_t began) {
  const auto now = ReadProcessStat(stepd);
  return now && !now->ended() && now->start_ticks == began;
}

AllocationSeen JudgeAllocation(int64_t job, const std::optional<SlurmJobSeen>& row, WallTime now) {
  AllocationSeen seen;
  if (!row) {
    seen.state = AllocationState::kOver;
    seen.why = AllocationName(job) + ": Slurm does not know it any more";
    return seen;
  }
  const bool ends = row->Has("COMPLETING") || (row->preempted && row->Has("RUNNING"));
  if (row->Ended() || ends) {
    seen.state = row->Ended() ? AllocationState::kOver : AllocationState::kEnds;
    seen.why = SlurmEndInWords(*row);
    if (row->Has("COMPLETED") || row->Has("FAILED"))
      seen.why = AllocationName(job) + ": its script ended";
    if (row->states.size() == 1 && row->Has("COMPLETING"))
      seen.why = AllocationName(job) + ": it ends";
    if (row->Has("RUNNING")) seen.until = row->ends;
    return seen;
  }
  if (row->ends.ms <= 0 || row->started.ms <= 0 || !row->Has("RUNNING")) return seen;
  seen.near = row->ends - std::min(kMostLead, (row->ends - row->started) / 4);
  if (now < seen.near) return seen;
  seen.state = AllocationState::kEnds;
  seen.why = AllocationName(job) + ": its time limit is near";
  seen.until = row->ends;
  return seen;
}

Result<AllocationSeen> AskAllocation(SlurmTools& tools, int64_t job, WallTime now, Duration limit) {
  STOKER_ASSIGN(const auto row, tools.Row(job, limit));
  return JudgeAllocation(job, row, now);
}

Status MayLaunchTied(const AllocationTie& tie, bool inside, const Result<AllocationSeen>& seen) {
  const std::string where = "inside " + AllocationName(tie.job);
  if (!seen.ok() && !seen.status().Is(Code::kDenied)) {
    return Status(Code::kUnavailable,
                  "it was started " + where +
                      ", of which Slurm does not say whether it runs: " + seen.status().message());
  }
  // Where there are none of Slurm's programs it is not Slurm's node either.
  const bool runs = seen.ok() ? seen->state == AllocationState::kRuns : inside;
  if (runs && inside) return Status::Ok();
  if (runs) {
    return Status(Code::kUnavailable,
                  "it was started " + where + ", which runs: only who is inside starts it there",
                  "Look after it from there (srun --overlap --jobid=" + std::to_string(tie.job) +
                      " stoker show JOB)");
  }
  if (inside) {
    return Status(
        Code::kUnavailable,
        seen->why + (tie.outlive ? "; it goes on where somebody next looks" : "; it goes with it"));
  }
  if (tie.outlive) return Status::Ok();
  return Status(
      Code::kInvalid, "it was started " + where + ", which is over",
      "'stoker retry' goes on from its checkpoints; --outlive lets a job go on elsewhere");
}

}  // namespace stoker

// SPDX-License-Identifier: Apache-2.0
// Fills a ledger in a local folder with jobs that have ended, as years of use would: records with
// several revisions, and the index. many_jobs STORE COUNT
#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/prng.h"
#include "ledger/index.h"
#include "ledger/ledger.h"
#include "ledger/records.h"
#include "store/local_store.h"
#include "sys/file.h"
#include "sys/real_clock.h"

namespace stoker {
namespace {

// One that was interrupted now and then, and ended in one of several ways.
Job Finished(Job job, Prng& prng) {
  const WallTime begin = job.created;
  const int attempts = 1 + static_cast<int>(prng.Below(4));
  for (int number = 1; number <= attempts; ++number) {
    Launch launch;
    launch.number = number;
    launch.token = std::string(64, 'a');
    launch.opened = begin + Duration::Minutes(number * 10);
    launch.not_after = launch.opened + Duration::Minutes(10);
    launch.limit = Duration::Hours(24);
    launch.instance_id = launch.token;
    launch.closed = true;
    launch.close_reason = number < attempts ? "interrupted" : "done";
    launch.closed_at = launch.opened + Duration::Minutes(9);
    job.launches.push_back(launch);
    Attempt attempt;
    attempt.number = number;
    attempt.state = AttemptState::kEnded;
    attempt.launches = {number};
    attempt.opened = launch.opened;
    attempt.running = launch.opened + Duration::Seconds(1);
    attempt.ended = launch.closed_at;
    attempt.run_ms = 500'000;
    attempt.newest_checkpoint = std::to_string(number) + "-" + std::to_string(prng.Below(90));
    attempt.ending.emplace();
    attempt.ending->reason = EndReason::kInterrupted;
    attempt.ending->why = "its platform takes the machine";
    job.attempts.push_back(attempt);
  }
  Ending& last = *job.attempts.back().ending;
  const bool failed = prng.Below(4) == 0;
  last = {failed ? EndReason::kUserError : EndReason::kCompleted, failed ? 1 : 0, 0, false, 0, ""};
  job.state = failed ? JobState::kFailed : JobState::kSucceeded;
  job.result = last;
  job.ended = job.attempts.back().ended;
  return job;
}

Status Fill(const std::string& root, int count) {
  RealClock clock;
  LocalStore::Options options;
  options.durable = false;  // only to make them faster; what is there afterwards is the same
  STOKER_ASSIGN(const auto store, LocalStore::Open(root, options));
  STOKER_ASSIGN(const auto ledger, Ledger::Open(*store, clock, sys::RandomU64()));
  Prng prng(1);
  const WallTime now = clock.Wall();
  for (int i = 0; i < count; ++i) {
    Job job;
    job.id = ledger->NewJobId();
    job.name = "train-" + std::to_string(prng.Below(50));
    job.user = "bench";
    job.created = now + Duration::Minutes(-40 * static_cast<int64_t>(count - i) - 60);
    job.workdir_note = "git 1a2b3c4 dirty, 12 files, 34 kB";
    STOKER_ASSIGN(const JobRead created, CreateJob(*ledger, job, "run: python train.py\n"));
    STOKER_ASSIGN(const JobRead ended, UpdateJob(*ledger, created, Finished(created.job, prng)));
    STOKER_TRY(AppendSummary(*ledger, ended.job));
    STOKER_TRY(RemoveActive(*ledger, job.id));
  }
  return Status::Ok();
}

}  // namespace
}  // namespace stoker

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: many_jobs STORE COUNT\n");
    return 2;
  }
  const stoker::Status status = stoker::Fill(argv[1], std::atoi(argv[2]));
  if (status.ok()) return 0;
  std::fprintf(stderr, "many_jobs: %s\n", status.ToString().c_str());
  return 1;
}

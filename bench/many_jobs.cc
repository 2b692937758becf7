// SPDX-License-Identifier: Apache-2.0
// Fills a ledger in a local folder, or in a bucket, with jobs that have ended, as years of use
// would: records with several revisions, and the index. many_jobs STORE COUNT. With
// MANY_JOBS_METRICS=no in the environment no job has metrics.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/prng.h"
#include "ledger/index.h"
#include "ledger/ledger.h"
#include "ledger/paths.h"
#include "ledger/records.h"
#include "metrics/metric_totals.h"
#include "store/local/local_store.h"
#include "store/open.h"
#include "sys/file.h"
#include "sys/real_clock.h"

namespace stoker {
namespace {

// One that was interrupted now and then, and ended in one of several ways.
Job Finished(Job job, Prng& prng) {
  const WallTime begin = job.created;
  const int attempts = 1 + static_cast<int>(prng.Below(4));
  for (int number = 1; number <= attempts; ++number) {
    Request& request = AppendRequest(job, {0});
    request.token = std::string(64, 'a');
    request.opened = begin + Duration::Minutes(number * 10);
    request.not_after = request.opened + Duration::Minutes(10);
    request.limit = Duration::Hours(24);
    Launch& launch = job.launches.back();
    launch.instance_id = request.token;
    launch.closed = true;
    launch.close_reason = number < attempts ? CloseReason::kInterrupted : CloseReason::kDone;
    launch.closed_at = request.opened + Duration::Minutes(9);
    Attempt attempt;
    attempt.number = number;
    attempt.state = AttemptState::kEnded;
    attempt.launches = {number};
    attempt.opened = request.opened;
    attempt.running = request.opened + Duration::Seconds(1);
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

// What it said of its training: four of five trained, and each of them has eight metrics.
Status AddMetrics(Ledger& ledger, const std::string& id, Prng& prng) {
  static const char* const wanted = std::getenv("MANY_JOBS_METRICS");
  if (prng.Below(5) == 0 || (wanted != nullptr && std::string_view(wanted) == "no")) {
    return Status::Ok();
  }
  static constexpr const char* kNames[] = {"loss",    "val_loss",      "acc",       "val_acc",
                                           "epoch_s", "learning_rate", "grad_norm", "throughput"};
  MetricTotals totals;
  totals.attempt = 1;
  for (const char* name : kNames) {
    for (int64_t step = 0; step < 3; ++step) {
      totals.newest[name].Add(step, WallTime{1}, static_cast<double>(prng.Below(10'000)) / 1e4);
    }
  }
  return ledger.store().Put(paths::MetricTotals(id), EncodeMetricTotals(totals)).status();
}

Status Add(Ledger& ledger, WallTime created, Prng& prng) {
  Job job;
  job.id = ledger.NewJobId();
  job.name = "train-" + std::to_string(prng.Below(50));
  job.user = "bench";
  job.created = created;
  job.workdir_note = "git 1a2b3c4 dirty, 12 files, 34 kB";
  STOKER_ASSIGN(const JobRead made, CreateJob(ledger, job, "run: python train.py\n"));
  STOKER_ASSIGN(const JobRead ended, UpdateJob(ledger, made, Finished(made.job, prng)));
  STOKER_TRY(AddMetrics(ledger, job.id, prng));
  STOKER_TRY(AppendSummary(ledger, ended.job));
  return RemoveActive(ledger, job.id);
}

Result<std::unique_ptr<ObjectStore>> Open(const std::string& where) {
  if (where.find("://") != std::string::npos) return OpenStore(where);
  LocalStore::Options options;
  options.durable = false;  // only to make them faster; what is there afterwards is the same
  STOKER_ASSIGN(auto store, LocalStore::Open(where, options));
  return std::unique_ptr<ObjectStore>(std::move(store));
}

Status Fill(const std::string& where, int count) {
  RealClock clock;
  STOKER_ASSIGN(const auto store, Open(where));
  STOKER_ASSIGN(const auto ledger, Ledger::Open(*store, clock, sys::RandomU64()));
  const WallTime now = clock.Wall();
  std::atomic<int> next = 0;
  std::mutex mutex;
  Status first;
  const auto work = [&](int seed) {
    Prng prng(static_cast<uint64_t>(seed));
    for (int i = next++; i < count; i = next++) {
      const Duration ago = Duration::Minutes(40 * static_cast<int64_t>(count - i) + 60);
      const Status added = Add(*ledger, now - ago, prng);
      if (added.ok()) continue;
      const std::lock_guard lock(mutex);
      if (first.ok()) first = added;
      next = count;
    }
  };
  std::vector<std::thread> crew;
  // Requests to a bucket are mostly waited for.
  const int workers = store->traits().requests_are_free ? 1 : 8;
  for (int seed = 1; seed <= workers; ++seed) crew.emplace_back(work, seed);
  for (std::thread& one : crew) one.join();
  return first;
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

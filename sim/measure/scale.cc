// SPDX-License-Identifier: Apache-2.0
#include "sim/measure/scale.h"

#include <utility>

#include "base/digest.h"
#include "job/encoding.h"
#include "ledger/paths.h"
#include "reconcile/reconcile.h"
#include "spec/print.h"

namespace stoker::sim {
namespace {

constexpr int64_t kDay = 86'400'000;
// How many nodes jobs have, over and over: 10 on average.
constexpr int kSizes[] = {1, 2, 1, 100, 1, 4, 2, 1, 8, 1, 24, 1, 2, 4, 1, 32, 4, 1, 8, 2};

Ending Ended(EndReason reason, std::string why) {
  Ending ending;
  ending.reason = reason;
  ending.why = std::move(why);
  return ending;
}

JobSpec SpecOf(const Job& job) {
  JobSpec spec;
  spec.name = job.name;
  spec.num_nodes = job.num_nodes;
  spec.run = "python train.py";
  return spec;
}

}  // namespace

ScaleWorld::ScaleWorld(const ScaleSetting& setting)
    : setting_(setting),
      rng_(setting.seed),
      bucket_(scheduler_, rng_),
      cloud_(scheduler_, rng_),
      clock_(scheduler_),
      store_(bucket_, scheduler_, rng_, "observer", nullptr),
      provider_(cloud_, scheduler_, rng_, "observer", nullptr) {
  cloud_.boot_low = cloud_.boot_high = 1'000;
  ledger_ = Ledger::Open(store_, clock_, setting.seed).value();
  // Not at the world's very beginning: jobs began before.
  LetPass(kDay);
  for (int i = 0; i < setting.finished; ++i) PlantFinished(i);
  active_.reserve(static_cast<size_t>(setting.active));
  for (int i = 0; i < setting.active; ++i) PlantActive(i);
  LetPass(2'000);  // machines boot
  for (Active& active : active_) PlantReports(active);
  Forget();
}

ScaleWorld::~ScaleWorld() = default;

void ScaleWorld::LetPass(int64_t ms) {
  const int64_t until = scheduler_.now() + ms;
  scheduler_.At(until, [] {});
  while (scheduler_.next() >= 0 && scheduler_.next() <= until) scheduler_.RunOne();
}

void ScaleWorld::Plant(const std::string& key, std::string text) {
  bucket_.Plant(key, std::make_shared<const std::string>(std::move(text)));
}

int ScaleWorld::NodesOf(int number) const {
  return setting_.many_nodes ? kSizes[static_cast<size_t>(number) % std::size(kSizes)] : 1;
}

// ---- what is in the ledger ----

Job ScaleWorld::Skeleton(const std::string& id, int number, int nodes) {
  Job job;
  job.rev = 5;
  job.id = id;
  job.name = "job-" + std::to_string(number);
  job.user = "ada";
  job.writer = ledger_->Nonce();
  job.code_digest = Sha256Hex(job.name);
  job.binary_digest = Sha256Hex("stoker");
  job.created = bucket_.Now() - Duration::Hours(1);
  job.num_nodes = nodes;
  Attempt attempt;
  attempt.number = 1;
  attempt.opened = job.created;
  attempt.running = job.created + Duration::Minutes(2);
  for (int slot = 0; slot < nodes; ++slot) {
    Request& request = AppendRequest(job, {slot});
    request.opened = job.created;
    request.not_after = bucket_.Now() + kSendWithin;
    request.limit = kDefaultLease;
    request.token = RequestToken(ledger_->id(), job, request);
    attempt.launches.push_back(job.launches.back().number);
  }
  job.attempts.push_back(std::move(attempt));
  const std::string spec = PrintJobSpec(SpecOf(job));
  job.spec_digest = Sha256Hex(spec);
  Plant(paths::Spec(id), spec);
  return job;
}

NodeReport ScaleWorld::ReportOf(const Job& job, int rank, int64_t seq, NodePhase phase) const {
  const Launch& launch = job.launches[static_cast<size_t>(rank)];
  NodeReport report;
  report.job = job.id;
  report.attempt = 1;
  report.rank = rank;
  report.launch = launch.number;
  report.instance_id = launch.instance_id;
  report.incarnation = "agent-of-" + launch.instance_id;
  report.seq = seq;
  report.phase = phase;
  report.address = "10.0.0." + std::to_string(rank % 250);
  report.mechanism = "pidns";
  report.newest_checkpoint = "1-000004";
  report.run_ms = 3'600'000;
  report.log_lines = 12'345;
  return report;
}

void ScaleWorld::PlantFinished(int number) {
  const std::string id = ledger_->NewJobId();
  Job job = Skeleton(id, number, NodesOf(number));
  job.state = JobState::kSucceeded;
  job.ended = bucket_.Now();
  job.result = Ended(EndReason::kCompleted, "the program ended with exit code 0");
  job.attempts[0].state = AttemptState::kEnded;
  job.attempts[0].ended = job.ended;
  job.attempts[0].ending = job.result;
  for (Launch& launch : job.launches) {
    launch.instance_id = "i-of-the-past";
    launch.closed = true;
    launch.close_reason = CloseReason::kDone;
    launch.closed_at = job.ended;
  }
  Plant(paths::Record(id), EncodeJob(job));
  for (int rank = 0; rank < job.num_nodes; ++rank) {
    NodeReport report = ReportOf(job, rank, 100, NodePhase::kEnded);
    report.end = job.result;
    report.end_checked = true;
    Plant(paths::Report(id, 1, rank), EncodeReport(report));
  }
}

void ScaleWorld::PlantActive(int number) {
  const std::string id = ledger_->NewJobId();
  Active active;
  active.job = Skeleton(id, 1'000'000 + number, NodesOf(number));
  Job& job = active.job;
  job.state = JobState::kRunning;
  job.attempts[0].state = AttemptState::kRunning;
  for (Launch& launch : job.launches) {
    const Request& entry = RequestOf(job, launch);
    LaunchRequest request;
    request.token = entry.token;
    request.ledger_id = ledger_->id();
    request.job = id;
    request.launches = {launch.number};
    request.limit = entry.limit;
    request.not_after = entry.not_after;
    launch.instance_id = provider_.Launch(request)->front();
  }
  Plant(paths::Active(id), "");
  Plant(paths::Record(id), EncodeJob(job));
  nodes_ += job.num_nodes;
  active_.push_back(std::move(active));
}

void ScaleWorld::PlantReports(Active& active) {
  ++active.seq;
  for (int rank = 0; rank < active.job.num_nodes; ++rank) {
    NodeReport report = ReportOf(active.job, rank, active.seq, NodePhase::kRunning);
    if (active.noticed) report.notice = Notice{"terminate", bucket_.Now() + Duration::Minutes(2)};
    Plant(paths::Report(active.job.id, 1, rank), EncodeReport(report));
  }
}

// ---- what happens ----

void ScaleWorld::Change(int count) {
  for (int i = 0; i < count; ++i) {
    Active& active = active_[static_cast<size_t>(i)];
    ++active.job.rev;
    active.job.writer = ledger_->Nonce();
    Plant(paths::Record(active.job.id), EncodeJob(active.job));
    PlantReports(active);
  }
}

void ScaleWorld::Beat() {
  for (Active& active : active_) PlantReports(active);
}

void ScaleWorld::Warn(int count) {
  for (int i = 0; i < count; ++i) {
    active_[static_cast<size_t>(i)].noticed = true;
    PlantReports(active_[static_cast<size_t>(i)]);
  }
}

void ScaleWorld::Forget() {
  controller_ = std::make_unique<Controller>(
      *ledger_, [this](const std::string&) -> Result<Provider*> { return &provider_; }, clock_);
}

PassCost ScaleWorld::Pass() {
  const BucketCounts before = bucket_.counts();
  const CloudCounts asked = cloud_.counts;
  passed_.clear();
  const auto each = [this](const std::string& id, const Result<PassResult>& pass) {
    if (pass.ok()) passed_.push_back(id);
  };
  PassCost cost;
  const int64_t begin = scheduler_.now();
  bool done = false;
  Process process(scheduler_, "observer");
  process.Spawn([&] {
    const auto result = PassAll(*ledger_, *controller_, each);
    if (result.ok()) cost.result = *result;
    done = true;
  });
  while (!done && scheduler_.RunOne()) {
  }
  cost.took_ms = scheduler_.now() - begin;
  const BucketCounts& after = bucket_.counts();
  cost.store.gets = after.gets - before.gets;
  cost.store.puts = after.puts - before.puts;
  cost.store.heads = after.heads - before.heads;
  cost.store.lists = after.lists - before.lists;
  cost.store.deletes = after.deletes - before.deletes;
  cost.store.bytes_up = after.bytes_up - before.bytes_up;
  cost.store.bytes_down = after.bytes_down - before.bytes_down;
  cost.describes = cloud_.counts.describes - asked.describes;
  cost.launches = cloud_.counts.launches - asked.launches;
  cost.terminates = cloud_.counts.terminates - asked.terminates;
  return cost;
}

}  // namespace stoker::sim

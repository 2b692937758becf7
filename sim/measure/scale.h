// SPDX-License-Identifier: Apache-2.0
// A ledger of any size, put into the bucket as it would be after a long time, without having lived
// it; and what one pass over it costs (Show 6: cost follows change, not history).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/prng.h"
#include "controller/all_jobs.h"
#include "sim/bucket/bucket.h"
#include "sim/cloud/cloud.h"
#include "sim/time/clock.h"
#include "sim/time/scheduler.h"

namespace stoker::sim {

struct ScaleSetting {
  int finished = 0;        // jobs that ended; their records, specs and reports are still there
  int active = 100;        // jobs that train, on machines that run
  bool many_nodes = true;  // 1 to 100 each, 10 on average; else 1 each
  uint64_t seed = 1;
};

// What a pass asked for, and how long the answers took (5 to 60 ms each, 20 to 300 ms those of the
// provider, one after the other): the store's clock, the same for each seed.
struct PassCost {
  int64_t took_ms = 0;
  BucketCounts store;
  int64_t describes = 0;
  int64_t launches = 0;
  int64_t terminates = 0;
  int64_t provider() const { return describes + launches + terminates; }
  int64_t requests() const { return store.all() + provider(); }
  AllJobsResult result;
};

// One thread. Passes are those of one observer, until Forget.
class ScaleWorld {
 public:
  explicit ScaleWorld(const ScaleSetting& setting);
  ~ScaleWorld();

  int64_t nodes() const { return nodes_; }  // of active jobs
  int64_t now() const { return scheduler_.now(); }
  // The observer is a new process.
  void Forget();
  // controller/all_jobs.h, as it ships.
  PassCost Pass();
  void LetPass(int64_t ms);
  // The first `count` active jobs: somebody else wrote their record, and each of their nodes
  // reports again.
  void Change(int count);
  // Every node of every active job reports again, and nothing else: what 15 s bring.
  void Beat();
  // Machines of the first `count` active jobs get a notice: something is to be decided. Their nodes
  // report it.
  void Warn(int count);
  // Jobs that the last Pass saw as `each` got them, for tests.
  const std::vector<std::string>& passed() const { return passed_; }

 private:
  struct Active {
    Job job;
    int64_t seq = 1;
    bool noticed = false;
  };
  void PlantFinished(int number);
  Job Skeleton(const std::string& id, int number, int nodes);
  void PlantActive(int number);
  void PlantReports(Active& active);
  void Plant(const std::string& key, std::string text);
  NodeReport ReportOf(const Job& job, int rank, int64_t seq, NodePhase phase) const;
  int NodesOf(int number) const;

  const ScaleSetting setting_;
  Scheduler scheduler_;
  Prng rng_;
  Bucket bucket_;
  Cloud cloud_;
  SimClock clock_;
  BucketClient store_;
  CloudClient provider_;
  std::unique_ptr<Ledger> ledger_;
  std::unique_ptr<Controller> controller_;
  std::vector<Active> active_;
  std::vector<std::string> passed_;
  int64_t nodes_ = 0;
};

}  // namespace stoker::sim

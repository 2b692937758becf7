// SPDX-License-Identifier: Apache-2.0
// For tests on a ledger: a clock that stands still, and jobs.
#pragma once

#include <memory>
#include <string>

#include "base/text.h"
#include "job/job.h"
#include "ledger/ledger.h"
#include "port/clock.h"
#include "test/kit/faulty.h"
#include "test/kit/memory_store.h"

namespace stoker {

class StillClock : public Clock {
 public:
  MonoTime Mono() override { return MonoTime{now}; }
  WallTime Wall() override { return WallTime{1'767'225'600'000 + now}; }
  int64_t now = 0;
};

// A store in memory, one that fails in front of it, and a ledger on top. No faults until told.
struct LedgerKit {
  explicit LedgerKit(uint64_t seed = 1)
      : faulty(memory, seed, {}), ledger(*Ledger::Open(faulty, clock, seed)) {}

  Job MakeJob(const std::string& id, const std::string& name, const std::string& user = "ann") {
    Job job;
    job.id = id;
    job.name = name;
    job.user = user;
    job.created = WallTime{1'767'225'600'000 + ++created};
    return job;
  }

  StillClock clock;
  MemoryStore memory;
  FaultyStore faulty;
  std::unique_ptr<Ledger> ledger;
  int64_t created = 0;
};

}  // namespace stoker

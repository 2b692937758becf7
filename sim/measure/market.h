// SPDX-License-Identifier: Apache-2.0
// Markets: recorded availability of spot machines, played onto a zone of the simulated cloud, and
// what a job cost there.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "sim/cloud/cloud.h"
#include "sim/time/scheduler.h"

namespace stoker::sim {

// How many machines could be had, sample by sample.
struct Trace {
  int64_t gap_ms = 0;          // between two samples
  std::vector<int> available;  // never empty
  int64_t length_ms() const { return gap_ms * static_cast<int64_t>(available.size()); }
};

// Of {"metadata": {"gap_seconds": 195}, "data": [0, 1, …]}; other fields are let through. kInvalid
// says what is wrong where; `name` (of the file) begins the message.
Result<Trace> ParseTrace(std::string_view text, const std::string& name);

// How a trace is played.
struct MarketPlay {
  std::string zone;
  int64_t offset_ms = 0;  // of the trace's own time: where it begins; any number, it goes round
  int64_t percent = 100;  // of the trace's time that the world takes: 50 = twice as fast; > 0
  int times = 1;          // machines for each that the trace has
  int64_t lead = 0;       // of the notices when it takes machines
};

// Sets the capacity of one zone whenever the trace says another number, round and round. Draws
// nothing. One thread; the scheduler and the cloud outlive it.
class Market {
 public:
  Market(Scheduler& scheduler, Cloud& cloud, Trace trace, MarketPlay play);
  // From now on. A second call begins again at the offset.
  void Start();
  // The zone keeps the capacity that it has. So does destroying it.
  void Stop() { running_.reset(); }

  // What the trace says for that true time; meaningless before Start.
  int CapacityAt(int64_t when) const;
  // In a thousand, of [from, to): how much of it a job of `machines` machines could be had.
  int64_t OpenShare(int64_t from, int64_t to, int machines) const;

 private:
  // Samples are numbered on beyond the trace's end; 0 is the trace's first.
  int Sample(int64_t number) const;
  int64_t NumberAt(int64_t when) const;
  int64_t BeginOf(int64_t number) const;
  // The next sample that says another number; -1 when none does.
  int64_t NextChange(int64_t number) const;
  void Apply(int64_t number);

  Scheduler& scheduler_;
  Cloud& cloud_;
  const Trace trace_;
  const MarketPlay play_;
  int64_t start_ = 0;
  std::shared_ptr<int> running_;  // events of a former Start find another one or none
};

// What a provider charges.
struct Price {
  int64_t micro_dollars_per_hour = 0;  // for each machine; by the second, rounded up
  bool from_request = false;           // from when it was made; else only while it runs (EC2)
  int64_t least_ms = 60'000;           // for each boot that came up (EC2: a minute)
};

// What one job's life in a market came to. `restarts` and `lost_work_ms` come from who watched it.
struct MarketReport {
  std::string label;
  int machines = 0;  // that were made
  int64_t machine_seconds = 0;
  int64_t cost_micro_dollars = 0;
  int restarts = 0;
  int64_t lost_work_ms = 0;  // worked and then not in any checkpoint that was restored
  int64_t finish_ms = -1;    // after submit; -1 = it did not
};

// Machines and cost of `job` ("" = of all) as of now.
MarketReport Bill(const Cloud& cloud, int64_t now, const std::string& job, const Price& price);

// A line of a table for people, and the table's head; both without a line end.
std::string MarketHead();
std::string MarketRow(const MarketReport& report);

}  // namespace stoker::sim

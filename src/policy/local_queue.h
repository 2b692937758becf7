// SPDX-License-Identifier: Apache-2.0
// Whose turn it is on one machine that several jobs share. Pure: what there is, who waits and who
// runs come in, who may start now and why the others wait comes out.
//
// Counted is by job: what a job asks for is held from the start of its first machine to the end of
// its last, so that the machines of one job never wait for each other, and one that replaces
// another starts at once. Higher priority first, then who was submitted first. The first that does
// not fit holds the line: a later one passes it only if it fits beside all that the first waits
// for, or if its span ends before the first could start, by the spans of those that run.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/time.h"
#include "spec/job_spec.h"

namespace stoker {

struct LocalGpu {
  int number = 0;    // as CUDA_VISIBLE_DEVICES has it
  std::string name;  // as its driver says; "" = not known
};

struct LocalCapacity {
  int64_t cpus = 1000;  // in thousandths
  int64_t memory = 0;   // bytes; 0 = not known, and not counted
  std::vector<LocalGpu> gpus;
};

inline constexpr int kAllGpus = -1;

struct LocalWants {
  int64_t cpus = 1000;       // in thousandths, for all of the job's nodes together
  int64_t memory = 0;        // bytes, for all of them together; 0 = no claim
  int gpus = kAllGpus;       // for each node; kAllGpus = those that there are, shared by the nodes
  std::string gpu_name;      // "" = any
  std::vector<int> devices;  // these for all nodes; `gpus` and `gpu_name` do not count then
  int nodes = 1;
  int priority = 0;  // higher is first
  WallTime since;    // when the job was submitted
  Duration span;     // how long it runs at most; 0 = not known
  bool operator==(const LocalWants&) const = default;
};

// As one line of text, for requests and tickets; "" is what one wants who asks for nothing.
std::string EncodeWants(const LocalWants& wants);
// kInvalid for what EncodeWants never writes. Words that are not known are passed over.
Result<LocalWants> ParseWants(std::string_view text);

// What the job asks of the machine that all its nodes share.
LocalWants WantsOf(const JobSpec& spec, WallTime submitted);

// One machine of a job.
struct LocalTicket {
  std::string job;  // the same for all machines of a job, and of no other
  std::string who;  // the job as people call it
  LocalWants wants;
  bool running = false;
  bool awake = true;      // somebody is there who would start it
  WallTime started;       // where it runs
  std::vector<int> gpus;  // where it runs: those of its job
};

struct LocalTurn {
  bool start = false;     // now
  std::vector<int> gpus;  // of its job, if it starts
  int place = 0;          // in line, from 1; 0 = it starts or runs
  std::string why;        // "1st in line: waits for 1 GPU; 2 of 2 are in use by a, b"
};

// turns[i] is that of tickets[i].
std::vector<LocalTurn> TakeTurns(const LocalCapacity& capacity,
                                 const std::vector<LocalTicket>& tickets, WallTime now);

// What is asked for and will never be here: "4 GPUs; this machine has 2"; "" = it fits.
std::string WhyNever(const LocalCapacity& capacity, const LocalWants& wants);

// Those of the job's GPUs that its node of this number has: a part of its own, where there are
// enough of them.
std::vector<int> GpusOfNode(const std::vector<int>& gpus, const LocalWants& wants, int node);

// "1.5 CPUs"
std::string CpusText(int64_t thousandths);

}  // namespace stoker

// SPDX-License-Identifier: Apache-2.0
// Where a world tells what happens in it: checkers and reports are observers and nothing else.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "job/job.h"
#include "policy/drain.h"
#include "sim/bucket/bucket.h"
#include "sim/cloud/cloud.h"

namespace stoker::sim {

// One program on one machine.
struct ProgramView {
  std::string machine;
  std::string job;
  int attempt = 0;
  int rank = 0;
  int launch = 0;
  int step = 0;  // done so far
};

// A program is told to end by its node. Times are true ones; the rest is what its node has heard
// and said of the time that is left.
struct ToldToEnd {
  std::optional<int64_t> until;  // the platform takes the machine then, as far as the node knows
  int64_t lead_ms = 0;           // before that it has heard of it
  std::optional<int64_t> kill_from;  // no notice of this attempt lets it be killed before
  Saving saving;                     // as the supervisor was told
  bool stood_still = false;          // the agent, since it has heard of it
};

// "a machine for launch 3", "machines for launches 3, 4".
std::string WhatIsAsked(const LaunchRequest& request);

// Called at the moment of the effect, before anybody else runs. An observer must not change the
// world; it may look at all of it and report a breach (World::Breach).
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void OnChange(const BucketChange&) {}
  // A record was written; both as the shipped decoder reads them. `before.rev` 0 = it was created.
  virtual void OnRecord(const Job& /*before*/, const Job& /*after*/,
                        const std::string& /*writer*/) {}
  virtual void OnRequested(const LaunchRequest&, const std::string& /*process*/) {}
  virtual void OnTerminating(const CloudMachine&, const std::string& /*process*/) {}
  virtual void OnStarting(const CloudMachine&, const std::string& /*process*/) {}
  virtual void OnBooted(const CloudMachine&) {}
  virtual void OnMachineEnded(const CloudMachine&) {}
  virtual void OnMachineStopped(const CloudMachine&) {}
  virtual void OnNoticed(const CloudMachine&) {}
  // Something has become of a machine in the account that is none of this world's.
  virtual void OnElsewhere(const CloudMachine&) {}
  // What a node got of the checkpoint that its attempt names; "" = from the beginning.
  virtual void OnRestored(const ProgramView&, const std::string& /*checkpoint*/) {}
  // Resumed at view.step, which it read from its files.
  virtual void OnProgramStarts(const ProgramView&) {}
  virtual void OnStep(const ProgramView&) {}
  virtual void OnToldToEnd(const ProgramView&, const ToldToEnd&) {}
  // Because it was told to, it has saved its newest step, and ends by itself now.
  virtual void OnSavedAtEnd(const ProgramView&, const ToldToEnd&) {}
  // Its node kills it while it runs.
  virtual void OnKilled(const ProgramView&, const ToldToEnd&) {}
  virtual void OnProgramEnds(const ProgramView&, int /*exit_code*/, int /*signal*/) {}
  // A process that acts for a user or a timer began (verb, attached, daemon, timer).
  virtual void OnActor(const std::string& /*process*/, const std::string& /*what*/) {}
  // A line of the story (World::Tell).
  virtual void OnTold(const std::string& /*who*/, const std::string& /*what*/) {}
  // Faults have stopped.
  virtual void OnCalm() {}
  // The world has nothing more to do, or has reached its limit.
  virtual void OnEnd() {}
};

}  // namespace stoker::sim

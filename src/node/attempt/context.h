// SPDX-License-Identifier: Apache-2.0
// What staging, running and finalizing share of one attempt on one node: what it is, where its
// files lie, its log.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "job/job.h"
#include "ledger/ledger.h"
#include "node/attempt/attempt_log.h"
#include "node/env/engine/patience.h"
#include "node/outputs/unsaved.h"
#include "port/clock.h"
#include "port/object_store.h"
#include "port/process_runner.h"
#include "spec/job_spec.h"
#include "sys/container/container.h"
#include "sys/task/task_limits.h"
#include "sys/thread_crew.h"
#include "sys/work_place.h"
#include "transfer/transfer.h"

namespace stoker::node {

// What it stands on; all must outlive it.
struct AttemptParts {
  ObjectStore& store;
  Ledger& ledger;
  ProcessRunner& runner;
  Clock& clock;
};

struct AttemptConfig {
  const JobSpec& spec;
  const Job& job;
  int launch = 0;
  int attempt = 0;
  int rank = 0;
  std::string dir;  // the instance's folder
  std::string cache_dir;
  std::string state_dir;  // of the local provider
  // Where each job's attempts have their place (sys/work_place.h); "" = in `dir`, as the machine is
  // one job's alone.
  std::string work_dir;
  std::string address;
  TaskLimiter* limiter = nullptr;                         // the runner's
  int gpus = 0;                                           // that the machine's type promises
  Place place{};                                          // where the machine is
  bool own_system = false;                                // PlatformTraits::own_system
  std::function<void(AttemptLog::Shipped)> log_opened{};  // see AttemptLog::WhenOpen
};

struct AttemptContext : AttemptParts {
  AttemptContext(AttemptParts parts, AttemptConfig config);

  std::string WorkDir() const { return place ? place->path() : config.dir + "/work"; }
  std::string CheckpointDir() const;
  // Of a checkpoint folder that outlives attempts, its real path; "" = it is made anew for each.
  std::string LastingCheckpointFolder() const;
  // Of the launch: an attempt after this one finds it.
  std::string InputsDir() const { return config.dir + "/inputs"; }
  // Of what the job gives to run.
  ProcessRunner& Runner() { return container ? *container : runner; }
  // $STOKER_SAVES.
  std::string SavesFile() const {
    return config.dir + "/saves-" + std::to_string(config.attempt) + ".txt";
  }
  std::string Spare() const { return config.dir + "/" + kSpare; }
  UnsavedPlace PlaceOfUnsaved() const;

  const AttemptConfig config;
  // Taken when the attempt is staged; given back last, when nothing of the task is left.
  std::unique_ptr<sys::WorkPlace> place;
  bool no_place = false;  // it was not to be had, which was said
  AttemptLog log;
  // From its staging to the end of what it runs; null where the job asks for none.
  std::unique_ptr<Container> container;
  std::string image_id;  // of `container`
  int own_gpus =
      0;  // that `container` has alone, counted from 0; 0 = all of the machine's, or none
  // With its engine, until the container has begun; with the registry of its image.
  Patience engine_patience, registry_patience;
  // Threads beside a job that needs the processors: they wait for the wire most of their time, and
  // end with what they move.
  ThreadCrew crew;
  const Movers movers{&crew, &clock, {16, 8, int64_t{64} << 20}};
};

}  // namespace stoker::node

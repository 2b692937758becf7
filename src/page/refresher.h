// SPDX-License-Identifier: Apache-2.0
// Looks at the ledger while somebody looks at the page, and tells the page what is new. Without a
// reader it asks the store for nothing.
#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "base/time.h"
#include "page/events.h"
#include "page/job_reader.h"
#include "page/jobs_book.h"

namespace stoker::page {

class Refresher {
 public:
  // All must outlive it.
  Refresher(JobReader& jobs, JobsBook& book, Events& events);
  ~Refresher();  // returns when its look is over
  // Somebody has just asked about this job: for a minute it is looked at often. Thread-safe.
  void Interest(const std::string& job);
  // Something was done: look at once. Thread-safe.
  void Hurry();

 private:
  struct Seen {
    MonoTime asked;
    MonoTime marked;  // as followed, for its nodes
    bool final = false;
    std::string record, log, metrics;
  };
  void Loop();
  void Look(MonoTime now);
  void LookAt(const std::string& job, Seen* seen, MonoTime now);

  JobReader& jobs_;
  JobsBook& book_;
  Events& events_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::map<std::string, Seen> seen_;  // the loop's, but for `asked` under the mutex
  std::map<std::string, MonoTime> asked_;
  bool hurry_ = false;
  bool ending_ = false;
  MonoTime listed_;
  MonoTime passed_;
  std::thread thread_;
};

}  // namespace stoker::page

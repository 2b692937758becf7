// SPDX-License-Identifier: Apache-2.0
// What the page's buttons do to a job: by client/, as the verbs of their names do it.
#pragma once

#include <functional>
#include <future>
#include <list>
#include <mutex>
#include <string>

#include "base/time.h"

namespace stoker::page {

// What came of something that was asked for.
struct Acted {
  bool done = false;
  std::string text;  // for people
  std::string made;  // the id of the job that was begun; "" = none was
};

using Act = std::function<Acted(const std::string& verb, const std::string& job)>;

// "cancel", "retry" and "preempt", each with a client of its own: settings and store as they are
// now. Takes as long as the store and the providers take.
Acted ActOn(const std::string& verb, const std::string& job);

// Each act has a thread of its own, so that whoever asked waits no longer than `patience` and
// nobody else waits. Thread-safe.
class Acts {
 public:
  explicit Acts(Act act = ActOn, Duration patience = Duration::Minutes(2));
  // Returns when all that was begun has ended.
  ~Acts() = default;
  // Not done: what the act says, that it goes on after `patience`, or that too many are under way.
  Acted Do(const std::string& verb, const std::string& job);
  // So many are under way.
  size_t Running();

 private:
  void Forget();  // those that have ended; by whoever has mutex_

  const Act act_;
  const Duration patience_;
  std::mutex mutex_;
  std::list<std::shared_future<Acted>> running_;
};

}  // namespace stoker::page

// SPDX-License-Identifier: Apache-2.0
// Jobs that are to end.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "client/open/client.h"
#include "job/job.h"

namespace stoker::client {

// Of one job that is to end: what was given for it, and what came of it.
struct Cancelled {
  std::string word;
  std::string id;
  std::optional<Job> job;  // once there is nothing more to wait for
  Status failed;
  bool kept = false;  // it had ended, and its machines were kept

  bool over() const { return job.has_value() || !failed.ok(); }
};

// Each of `words`; what names no job has failed. Of several jobs of one name it is the newest that
// has not ended.
std::vector<Cancelled> FindRunning(Client& client, const std::vector<std::string>& words);

// The jobs that have not ended, or whose machines are kept.
struct AllJobs {
  std::vector<std::string> mine;    // ids, newest first
  std::vector<std::string> told;    // the same, in words
  std::vector<std::string> others;  // of the same user name, and perhaps of somebody else
  std::vector<std::string> others_told;
  bool unread = false;  // records that cannot be read were left out, and said
};
// Of this person; of whom `user` names, unless that is "".
Result<AllJobs> FindAll(Client& client, const std::string& user);

// Writes into the record of each that it is to end, and with `wait` waits for all together until
// they have ended. Tells each at `over` as soon as it is. Says what keeps them from ending. Forgets
// what this machine kept for jobs that have ended.
void CancelJobs(Client& client, bool wait, const std::function<void(const Cancelled&)>& over,
                std::vector<Cancelled>* jobs);

// "digits (k3f7) Cancelled": of one that has not failed.
std::string CancelledText(const Cancelled& one);

}  // namespace stoker::client

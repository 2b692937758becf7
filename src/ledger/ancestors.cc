// SPDX-License-Identifier: Apache-2.0
#include "ledger/ancestors.h"

#include <set>

#include "ledger/records.h"

namespace stoker {

Result<Ancestors> ReadAncestors(Ledger& ledger, const Job& job) {
  Ancestors found;
  std::set<std::string> seen = {job.id};
  for (std::string next = job.retry_of; !next.empty(); next = found.jobs.back().retry_of) {
    const std::string& of = found.jobs.empty() ? job.id : found.jobs.back().id;
    if (!seen.insert(next).second) {
      found.cut =
          "job " + of + " says that it goes on from job " + next + ", which goes on from it";
      return found;
    }
    if (found.jobs.size() >= kMostAncestors) {
      found.cut = "there are more than " + std::to_string(kMostAncestors) + " jobs before it";
      return found;
    }
    auto read = ReadJob(ledger, next);
    if (!read.ok()) {
      if (!read.status().Is(Code::kNotFound) && !read.status().Is(Code::kCorrupt) &&
          !read.status().Is(Code::kTooNew)) {
        return read.status();
      }
      if (!read.status().Is(Code::kNotFound)) found.unread = next;
      found.cut = "job " + of + " goes on from job " + next +
                  ", which cannot be read: " + read.status().message();
      return found;
    }
    found.jobs.push_back(std::move(read->job));
  }
  return found;
}

}  // namespace stoker

// SPDX-License-Identifier: Apache-2.0
// What is doomed (ledger/collect/doomed.h), as verbs deal with it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "client/open/client.h"
#include "job/job.h"
#include "ledger/collect/collect.h"

namespace stoker::client {

// Whether a list that cannot be read is said.
enum class UnreadLists { kTold, kNotTold };

// The job and those that it goes on from, nearest first: what a record that goes on from it needs.
Result<std::vector<std::string>> LineOf(Ledger& ledger, const Job& job);

// Before a record relies on them: takes the jobs of `line` off the lists of what is to go, and says
// which. kNotFound: the first of them is being removed, or the one that `begins`
// ("JOB/CHECKPOINT", may be "") is of. Good for an hour.
Status SpareLine(Client& client, const std::vector<std::string>& line, const std::string& begins,
                 UnreadLists unread);

// Removes what is due, for who comes by again and again; each ten minutes where requests cost
// money, or where a record that cannot be read stood in the way. Says what it did. The result has
// the ids of the jobs.
std::vector<std::string> RemoveDueAtTimes(Client& client);

// When each doomed job goes; one list, and nothing where none is. What is not known is said.
std::map<std::string, WallTime> WhatGoes(Client& client);

// What stayed of it, and why.
void TellStayed(Client& client, const Removed& removed);

}  // namespace stoker::client

// SPDX-License-Identifier: Apache-2.0
// The first passes over a job that was just submitted, for who does not stay with it.
#pragma once

#include <optional>
#include <string>

#include "base/status.h"
#include "client/open/client.h"
#include "controller/controller.h"

namespace stoker::client {

// As many as it takes to ask for its machines, or to end a job that was refused for good: nobody
// else may come by for a while. What the last one saw, or its error.
Result<PassResult> BeginJob(Controller& controller, const std::string& job);

// Waits for what clouds say late (late_answers.h), and says what stands in the way: the job is in
// the ledger, so that a first pass that failed is worth a word, not a failure; and what places
// said before another one took it. `first` is of BeginJob. The job, if it was refused for good and
// has ended: that is for the caller to say.
std::optional<Job> HearOut(Client& client, Controller& controller, Result<PassResult> first);

}  // namespace stoker::client

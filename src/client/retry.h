// SPDX-License-Identifier: Apache-2.0
// An ended job run again, as a new one.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/status.h"
#include "client/open/client.h"
#include "client/submit/variables.h"
#include "job/job.h"
#include "spec/job_spec.h"
#include "spec/parse.h"

namespace stoker::client {

// What changes of its job file, in the words of the command line; "" = as it was.
struct RetryChanges {
  SpecOverrides flags;  // variables aside
  VariableFlags variables;
};

struct RetryWish {
  std::string job;       // its id
  bool fresh = false;    // without a checkpoint
  bool outlive = false;  // as SubmitRequest's
  RetryChanges changes;
  std::function<void()> before_record;  // as SubmitRequest's
};

struct Submitted {
  Job job;
  JobSpec spec;
};

// The same code again, from the newest checkpoint of the job's line; says from which. Under the
// present name of the job. kInvalid: it has not ended.
Result<Submitted> Retry(Client& client, const RetryWish& wish);

}  // namespace stoker::client

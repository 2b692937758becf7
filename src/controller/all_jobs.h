// SPDX-License-Identifier: Apache-2.0
// One pass over every active job.
#pragma once

#include <functional>
#include <string>

#include "controller/controller.h"

namespace stoker {

struct AllJobsResult {
  int active = 0;  // markers in active/
  int passed = 0;  // jobs whose pass worked
  int failed = 0;
  Status first_failure;
};

// `each` (may be empty) gets every pass, or its failure. Stops early when `enough`, which is asked
// before each job, says so. Begins with the job behind `after` in their order by id, and ends with
// that one. A job that cannot be read does not keep the others from being looked after. Costs what
// changed: what has not is listed by the thousand, and only jobs with something to do are looked at
// one by one.
Result<AllJobsResult> PassAll(
    Ledger& ledger, Controller& controller,
    const std::function<void(const std::string& id, const Result<PassResult>&)>& each = {},
    const std::function<bool(const std::string& next)>& enough = {}, const std::string& after = "");

}  // namespace stoker

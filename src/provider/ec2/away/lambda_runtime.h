// SPDX-License-Identifier: Apache-2.0
// The loop of a custom runtime of AWS Lambda; inside provider/ec2 only. Source: "Using the Lambda
// runtime API for custom runtimes" (Lambda developer guide).
#pragma once

#include <functional>
#include <string>

#include "base/status.h"
#include "base/time.h"

namespace stoker::ec2 {

struct LambdaCall {
  std::string id;     // the same when Lambda repeats it
  WallTime deadline;  // then Lambda ends the process, by this machine's clock
  std::string event;  // JSON
};

// Serves calls one after another, as Lambda wants it, until its API does not answer any more; an
// error of `handle` is told to Lambda, which repeats what was called without waiting for an answer.
// `api`: "host:port". Returns why it stopped.
Status ServeLambda(const std::string& api,
                   const std::function<Result<std::string>(const LambdaCall&)>& handle);

}  // namespace stoker::ec2

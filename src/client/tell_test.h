// SPDX-License-Identifier: Apache-2.0
// A test event, sent to each whom `notify` names, from this machine.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "client/open/client.h"
#include "spec/job_spec.h"

namespace stoker::client {

struct TestTold {
  std::string whom;  // "slack $SLACK_URL"; printable
  Status answer;     // without a secret
};
// Secrets are found as for a job that is submitted. Once to each, in their order. Errors: a secret
// that is nowhere.
Result<std::vector<TestTold>> TellTest(Client& client, const JobSpec& spec);

}  // namespace stoker::client

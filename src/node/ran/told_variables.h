// SPDX-License-Identifier: Apache-2.0
// Which variables of a program are told in the ledger by name alone, and which with their values.
// Pure.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "contract/environment.h"
#include "job/run_facts.h"
#include "spec/job_spec.h"

namespace stoker::node {

// What the variables of a program were made of.
struct VariableOrigins {
  const JobSpec& spec;
  const contract::Environment& shell;
  const contract::Environment& from_setup;
  const contract::Environment& secrets;
  std::function<std::string(const std::string&)> masked;  // as the log shows a text
};

// Each of `env`, by name. A value is told of what stoker sets, of the job's `envs` and of the list
// in docs/environment.md; never of a secret, nor one that holds a secret or looks like one.
std::vector<ToldVariable> TellVariables(const contract::Environment& env,
                                        const VariableOrigins& from);

}  // namespace stoker::node

// SPDX-License-Identifier: Apache-2.0
// What the job's submitter left for it, on this machine or in a vault: variables of a shell,
// secrets.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "contract/environment.h"
#include "job/job.h"
#include "spec/job_spec.h"

namespace stoker::node {

struct OwnVariables {
  contract::Environment shell;
  contract::Environment secrets;
  std::vector<std::string> masked;  // what the log must not show
};

struct OwnVariablesFrom {
  std::string state_dir;  // of the local provider
  std::string ledger_id;
  const Job& job;
  Place machine;        // where this one is
  std::string workdir;  // where the job's code lies on this node
};

// What the submitter left in the state folder or in a vault, and what the job's references name,
// read by this machine's own rights. Empty when nothing was left. Paths of PYTHONPATH and
// LD_LIBRARY_PATH into the folder that the job was packed from lead into its copy, where they exist
// in it. kInvalid when a secret of the spec is not there; also as ReadJobSecret.
Result<OwnVariables> FindOwnVariables(const JobSpec& spec, const OwnVariablesFrom& from);

// How the line about the shell's variables begins, which an attached 'run' has said itself.
inline constexpr std::string_view kShellLine = "stoker: from the submitter's shell: ";
// Begins what is said, in the log and as a trouble of the node, of processes that a program left.
inline constexpr char kLeftBehind[] = "the program has ended and left ";

// Lines for the log, names alone; none when there is nothing to say.
std::vector<std::string> TellOwnVariables(const OwnVariables& own);

}  // namespace stoker::node

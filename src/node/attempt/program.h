// SPDX-License-Identifier: Apache-2.0
// How an attempt's program, and the setup before it, are started: with which facts, environment and
// host name.
#pragma once

#include <string>
#include <vector>

#include "contract/environment.h"
#include "node/attempt/context.h"
#include "node/attempt/own_variables.h"
#include "node/env/python_env.h"
#include "port/process_runner.h"

namespace stoker::node {

// What staging has made for the program.
struct Staged {
  OwnVariables own;
  PythonEnv venv;
  std::string guard;  // node/env/editable.h; "" = none is needed
  contract::Environment from_setup;
  std::string restored;  // the checkpoint; "" = none
};

// `addresses`: by rank; {own} while the others are not known.
contract::ProgramInput FactsOf(const AttemptContext& here, const Staged& staged,
                               const std::vector<std::string>& addresses, int master_port,
                               bool resume);
// Puts the job's packages first.
void Activate(const Staged& staged, contract::Environment& env);
// `script`, in the work directory; in a container by the shell that the image has.
TaskCommand ShellCommand(const AttemptContext& here, const std::string& script,
                         contract::Environment env);
// What both need: the node's host name, that the work directory is this attempt's; in a container
// its entry point and its user.
Status Equip(const AttemptContext& here, const std::vector<std::string>& addresses,
             TaskCommand& command);
// Once something runs: which limits are not held.
void SayWhatIsNotHeld(AttemptContext& here);

}  // namespace stoker::node

// SPDX-License-Identifier: Apache-2.0
// Signals by name, and what the log says of who got one.
#pragma once

#include <string>
#include <vector>

#include "port/process_runner.h"

namespace stoker {

// Of a name that checkpoints.signal may have ("SIGUSR1"); 0 for any other.
int SignalNumber(const std::string& name);

// One line for the log, without its end: "SIGTERM to python3 train.py (process 4242)". Where `told`
// is empty nobody handles the signal, and `nobody` says what came of it.
std::string TellSignal(const std::string& name, const std::vector<SignalledProcess>& told,
                       const std::string& nobody);

}  // namespace stoker

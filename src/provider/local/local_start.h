// SPDX-License-Identifier: Apache-2.0
// How the processes of this provider are started: a machine, and the one that waits for turns.
#pragma once

#include <string>

#include "base/status.h"
#include "port/clock.h"
#include "provider/local/local_state.h"
#include "provider/local/local_turns.h"

namespace stoker {

// Beside boot.json, until the machine runs: the environment of who asked for the instance, which
// whoever starts it later does not have. For its owner's eyes (mode 0600).
Status KeepLocalEnvironment(const std::string& dir);

// Starts the machine process of an instance, which inherits the grant, and gives it all of its
// limit from now on. Ok once it runs, or has run.
Status StartLocalMachine(const LocalState& state, const LocalStart& start, Clock& clock);

// Starts `stoker __waiter STATE`. Ok once one waits.
Status StartLocalWaiter(const LocalState& state);

}  // namespace stoker

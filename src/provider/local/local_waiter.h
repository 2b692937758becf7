// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace stoker {

// The body of `stoker __waiter STATE`: the process that waits for all instances of a state folder
// that stand in line on this machine (local_turns.h), and starts each in its turn. There is one for
// a state folder, only while something waits; whoever looks at such an instance starts it again
// when it was killed. It sleeps until something happens in the folder of the queue, and looks there
// now and then besides. main() calls it before it has made any thread. Returns the exit code.
int LocalWaiterMain(const std::string& state);

}  // namespace stoker

// SPDX-License-Identifier: Apache-2.0
// The other end of a connection: what runs on the box, for as long as the connection lasts. All
// that is decided of machines there is decided here, by provider/local, so that all who come to the
// box share one line.
#pragma once

#include <string>
#include <vector>

namespace stoker {

// The body of `stoker __box STATE`: reads requests from standard input, one line each, and answers
// each with a line on standard output, until the input ends. What it starts outlives it. main()
// calls it before it has made any thread. Returns the exit code. `agent_argv`: as
// LocalProviderOptions, for tests.
int BoxMain(const std::string& state, const std::vector<std::string>& agent_argv = {});

}  // namespace stoker

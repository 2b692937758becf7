// SPDX-License-Identifier: Apache-2.0
// Programs that do not want to end, for tests: each writes a heartbeat, and only that counts as
// life.
#pragma once

#include <string>

namespace stoker {

// The test binary's own verbs: "__init", "__heads DIR plain|respawn|chain", "__owner DIR MECHANISM
// KIND", "__nobody DIR MECHANISM KIND". True when argv named one; then `code` is the exit code.
bool RunTestVerb(int argc, char** argv, int& code);

// How many of the heartbeat files in `dir` still change.
int CountBeating(const std::string& dir);
// Waits until at least `count` beat; false after `limit_ms`.
bool AwaitBeating(const std::string& dir, int count, int limit_ms = 5000);

inline constexpr int kHeads = 6;

}  // namespace stoker

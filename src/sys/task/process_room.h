// SPDX-License-Identifier: Apache-2.0
// How many processes and threads this user may have at once: what `ulimit -u` shows.
#pragma once

#include <cstdint>
#include <optional>

namespace stoker::sys {

struct ProcessRoom {
  int64_t limit = 0;  // RLIMIT_NPROC of this process, setrlimit(2)
  int64_t used = 0;   // processes and threads of its real user that can be seen
};

// Unset: nothing that counts. The kernel lets root pass, and a limit of thousands is no question.
// Reads all of /proc; thread-safe.
std::optional<ProcessRoom> TightProcessRoom();

}  // namespace stoker::sys

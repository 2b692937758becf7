// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace stoker {

// Closes every descriptor from `first` on. Async-signal-safe where close_range exists (Linux 5.9);
// before that it reads /proc/self/fd by plain system calls, which is as safe.
void CloseFrom(int first);

// All signals to their defaults, none blocked. Async-signal-safe.
void ResetSignals();

}  // namespace stoker

// SPDX-License-Identifier: Apache-2.0
// Where bytes pass through on their way between files and connections. Inside store/ only.
#pragma once

#include <cstdint>
#include <memory>

namespace stoker {

// Small enough to stay in the processor's own cache between the copy in and the copy out, and large
// enough that calls cost little.
inline constexpr int64_t kTransferBuffer = 1 << 20;

// This thread's; what is in it is gone when anything else of store/ runs on the thread.
inline char* TransferBuffer() {
  thread_local const std::unique_ptr<char[]> buffer(new char[kTransferBuffer]);
  return buffer.get();
}

}  // namespace stoker

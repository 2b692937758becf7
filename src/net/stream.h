// SPDX-License-Identifier: Apache-2.0
// One connection's bytes, plain or under TLS.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "base/status.h"
#include "base/time.h"
#include "net/socket.h"

namespace stoker {

// Not thread-safe. `stall` is how long a call waits for the next byte to move: a transfer that goes
// on takes as long as it takes. kTimeout when nothing moves, kUnavailable when the peer is gone.
class Stream {
 public:
  virtual ~Stream() = default;
  // Up to `size` bytes; 0 at the end.
  virtual Result<size_t> Read(char* buffer, size_t size, Duration stall) = 0;
  virtual Status Write(std::string_view bytes, Duration stall) = 0;
  // [offset, offset + size) of `fd`, by the kernel alone where that can be. kCorrupt: the file is
  // shorter.
  virtual Status WriteFile(int fd, int64_t offset, int64_t size, Duration stall) = 0;
  // Nothing has come that nobody asked for, and the peer has not hung up: fit for another request.
  virtual bool Quiet() = 0;
};

std::unique_ptr<Stream> PlainStream(Socket socket);

}  // namespace stoker

// SPDX-License-Identifier: Apache-2.0
// One zstd frame, written or read in pieces. Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"

namespace stoker::pack {

// Takes bytes in order; a failure ends the stream.
using ByteSink = std::function<Status(std::string_view)>;
// Up to `size` bytes into `buffer`; 0 at the end. The shape of Download::Read.
using ByteSource = std::function<Result<int64_t>(char* buffer, int64_t size)>;

class ZstdWriter {
 public:
  // `expected` bytes in all, roughly: small inputs get small tables. The same input with the same
  // `expected` always gives the same output.
  ZstdWriter(ByteSink sink, int64_t expected);
  ~ZstdWriter();
  Status Write(std::string_view data);
  // Ends the frame, with its checksum. Call once.
  Status Finish();
  int64_t bytes_in() const { return in_; }
  int64_t bytes_out() const { return out_; }

 private:
  Status Run(std::string_view data, bool last);
  struct State;
  std::unique_ptr<State> state_;
  ByteSink sink_;
  int64_t in_ = 0;
  int64_t out_ = 0;
};

struct ZstdLimits {
  int64_t max_out = INT64_MAX;
  // Refused when more than `max_ratio` times longer than its packed form, once over `ratio_floor`.
  int64_t max_ratio = 1000;
  int64_t ratio_floor = 1 << 30;
};

// Reads untrusted input: exactly one frame with a checksum and nothing behind it.
class ZstdReader {
 public:
  ZstdReader(ByteSource source, const ZstdLimits& limits);
  ~ZstdReader();
  // As ByteSource. kCorrupt: not zstd, damaged, cut short, or bytes follow; kInvalid: over a limit.
  // The first failure is repeated by later calls.
  Result<int64_t> Read(char* buffer, int64_t size);
  int64_t bytes_out() const { return out_; }

 private:
  Result<int64_t> Step(char* buffer, int64_t size);
  // More input; false at its end.
  Result<bool> Refill();
  struct State;
  std::unique_ptr<State> state_;
  ByteSource source_;
  ZstdLimits limits_;
  Status failed_;
  int64_t in_ = 0;
  int64_t out_ = 0;
};

}  // namespace stoker::pack

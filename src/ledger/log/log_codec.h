// SPDX-License-Identifier: Apache-2.0
// zstd for log segments: in one go, streamed, and the bounded way back out of untrusted bytes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "ledger/log/log_record.h"

namespace stoker {

// No segment unpacks to more; what does is refused (a bomb, or damage).
inline constexpr int64_t kMaxSegmentRaw = 64 * 1024 * 1024;
// No segment is larger as an object.
inline constexpr int64_t kMaxSegmentObject = 32 * 1024 * 1024;

// How text is packed. Whoever reads it needs as much memory as the window is large.
struct Packing {
  int level = 1;
  int window_log = 20;  // 1 MiB
  int table_log = 0;    // of what is looked for in the window; 0 = as the level has it
};

// Packs text piece by piece, with a checksum; memory about the window plus the output. Not
// thread-safe.
class LogCompressor {
 public:
  explicit LogCompressor(const Packing& packing = {});
  ~LogCompressor();
  Status Add(std::string_view text);
  // What is packed so far, for whoever sends it on at once; it is no part of what Finish gives.
  std::string TakePacked();
  // The packed bytes; the compressor can then be used again.
  Result<std::string> Finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Unpacks one segment record by record in bounded memory. Not thread-safe.
class SegmentDecoder {
 public:
  // `packed` is the object; `lines` is what its name promises.
  SegmentDecoder(std::string packed, int64_t lines);
  ~SegmentDecoder();
  // The next record, valid until the next call; nullopt after the last. kCorrupt when the bytes are
  // not a segment of exactly `lines` records: what came before that is good.
  Result<std::optional<RecordView>> Next();
  // All that no Next has returned, unpacked into `out` with no look at its records: for a segment
  // that another decoder has read to its end. kCorrupt when the bytes are not packed whole.
  Status Rest(LogCompressor& out);
  // The record that Next returned last, as text with its \n.
  std::string_view raw() const;
  int64_t raw_bytes() const;  // of all records so far

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace stoker

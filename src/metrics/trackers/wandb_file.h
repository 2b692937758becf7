// SPDX-License-Identifier: Apache-2.0
// Reads the file that W&B keeps of a run (run-ID.wandb) as it grows. It is framed as LevelDB's log
// is (leveldb/doc/log_format.md): blocks of 32 KiB with chunks of a checksum, a length and a type;
// but for its first 7 bytes, and for the checksum, which is zlib's (wandb/sdk/internal/
// datastore.py). Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "metrics/trackers/wandb_record.h"

namespace stoker::metrics {

// Stepped: bytes in, points out. Holds at most one record of kMaxHeld bytes; longer ones are passed
// over. Behind a damaged chunk it goes on with the next block.
class WandbFileReader {
 public:
  static constexpr size_t kMaxHeld = 4 << 20;

  // Of records that end at byte `known` or before, another reader gave what they hold: they are
  // read for what they say of those behind.
  explicit WandbFileReader(int64_t known = 0) : known_(known) {}

  // From the file's beginning on.
  void Feed(std::string_view bytes, PointSink& sink);

  // The end of the last record that was read whole, and `known` at least.
  int64_t offset() const { return offset_ > known_ ? offset_ : known_; }
  int64_t passed_over() const { return passed_over_; }  // records longer than kMaxHeld
  int64_t damaged() const { return damaged_; }          // places where records were lost
  bool foreign() const { return foreign_; }  // it does not begin as W&B's files of this version do
  WandbRecords& records() { return records_; }

 private:
  size_t TakeBegin(std::string_view bytes);
  size_t TakeChunk(std::string_view bytes, PointSink& sink);
  void Chunk(std::string_view chunk, PointSink& sink);
  void Lose();

  const int64_t known_;
  int64_t offset_ = 0;
  int64_t position_ = 0;  // bytes that were fed
  std::string held_;      // of a chunk that is not whole
  bool skips_ = false;    // the rest of a block
  std::string record_;    // of its first chunks
  bool open_ = false;     // it has begun
  bool too_long_ = false;
  bool lost_ = false;  // where it began is behind damage
  int64_t passed_over_ = 0;
  int64_t damaged_ = 0;
  bool foreign_ = false;
  WandbRecords records_;
};

}  // namespace stoker::metrics

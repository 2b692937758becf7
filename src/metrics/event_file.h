// SPDX-License-Identifier: Apache-2.0
// Reads a TensorBoard event file as it grows. Its records are framed as TFRecord has it
// (tensorflow/core/lib/io/record_writer.h): a length of 8 bytes, its masked CRC-32C, the bytes, and
// theirs. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "metrics/event_record.h"

namespace stoker::metrics {

// Stepped: bytes in, points out. Holds at most one record of kMaxHeld bytes; longer ones, which are
// images, are checked and passed over as they come.
class EventFileReader {
 public:
  static constexpr uint64_t kMaxHeld = 4 << 20;

  // Begins at the file's byte `offset`, which must be a former offset() or 0.
  explicit EventFileReader(int64_t offset = 0) : offset_(offset) {}

  // The bytes that follow those before. False: it is broken and takes no more.
  bool Feed(std::string_view bytes, PointSink& sink);

  // The end of the last record that was read whole: where another reader may go on.
  int64_t offset() const { return offset_; }
  int64_t records() const { return records_; }
  // Records that are longer than kMaxHeld, and those whose checksum or content is wrong.
  int64_t passed_over() const { return passed_over_; }
  int64_t damaged() const { return damaged_; }
  // A length whose checksum is wrong: nothing behind it can be found.
  bool broken() const { return broken_; }
  EventNames& names() { return names_; }

 private:
  void Record(std::string_view bytes, PointSink& sink);
  size_t TakeHeader(std::string_view bytes);
  size_t TakeBody(std::string_view bytes, PointSink& sink);
  void End();

  int64_t offset_;
  std::string held_;  // of the record that is being read: header, or body with its checksum
  bool in_body_ = false;
  uint64_t length_ = 0;  // of the body, without its checksum
  uint64_t seen_ = 0;    // of a body that is passed over
  uint32_t crc_ = 0;     // of what was seen of it
  int64_t records_ = 0;
  int64_t passed_over_ = 0;
  int64_t damaged_ = 0;
  bool broken_ = false;
  EventNames names_;
};

// The checksum as TFRecord has it.
uint32_t MaskedCrc32c(std::string_view bytes);

}  // namespace stoker::metrics

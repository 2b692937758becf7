// SPDX-License-Identifier: Apache-2.0
#include "metrics/trackers/wandb_file.h"

#include <zlib.h>

#include <algorithm>

namespace stoker::metrics {
namespace {

constexpr int64_t kBlock = 32768;
constexpr size_t kHeader = 7;  // of a chunk: checksum, length, type
// ":W&B", the magic number 0xBEE1, version 0.
constexpr std::string_view kBegin("\x3aW&B\xe1\xbe\x00", kHeader);

enum ChunkType : unsigned char { kNone = 0, kFull = 1, kFirst = 2, kMiddle = 3, kLast = 4 };

uint32_t Byte(std::string_view bytes, size_t at) { return static_cast<unsigned char>(bytes[at]); }
uint32_t Checksum(std::string_view header) {
  return Byte(header, 0) | Byte(header, 1) << 8 | Byte(header, 2) << 16 | Byte(header, 3) << 24;
}
size_t Length(std::string_view header) { return Byte(header, 4) | Byte(header, 5) << 8; }
uint32_t TypeOf(std::string_view header) { return Byte(header, 6); }

}  // namespace

void WandbFileReader::Feed(std::string_view bytes, PointSink& sink) {
  while (!bytes.empty() && !foreign_) {
    const bool begins = position_ < static_cast<int64_t>(kHeader);
    const size_t used = begins ? TakeBegin(bytes) : TakeChunk(bytes, sink);
    bytes.remove_prefix(used);
  }
}

size_t WandbFileReader::TakeBegin(std::string_view bytes) {
  const size_t take = std::min(bytes.size(), kHeader - static_cast<size_t>(position_));
  foreign_ = bytes.substr(0, take) != kBegin.substr(static_cast<size_t>(position_), take);
  position_ += static_cast<int64_t>(take);
  return take;
}

// Returns how many of the bytes were used, at least one.
size_t WandbFileReader::TakeChunk(std::string_view bytes, PointSink& sink) {
  const int64_t begin = position_ - static_cast<int64_t>(held_.size());
  const auto left = static_cast<size_t>(kBlock - begin % kBlock);  // of the block
  if (skips_ || left < kHeader) {
    const size_t take = std::min(bytes.size(), static_cast<size_t>(kBlock - position_ % kBlock));
    position_ += static_cast<int64_t>(take);
    skips_ = position_ % kBlock != 0;
    return take;
  }
  const bool in_header = held_.size() < kHeader;
  const size_t whole = kHeader + (in_header ? 0 : Length(held_));
  const size_t take = std::min(bytes.size(), whole - held_.size());
  held_.append(bytes.substr(0, take));
  position_ += static_cast<int64_t>(take);
  if (held_.size() < whole) return take;
  if (in_header) {
    const bool good =
        TypeOf(held_) >= kFull && TypeOf(held_) <= kLast && Length(held_) <= left - kHeader;
    if (good && Length(held_) > 0) return take;
    if (good) {
      Chunk(held_, sink);
    } else {
      // Zeros are what a writer has reserved.
      if (TypeOf(held_) != kNone || Length(held_) > 0) Lose();
      skips_ = position_ % kBlock != 0;
    }
  } else {
    Chunk(held_, sink);
  }
  held_.clear();
  return take;
}

void WandbFileReader::Lose() {
  ++damaged_;
  open_ = false;
  lost_ = true;
  record_.clear();
}

void WandbFileReader::Chunk(std::string_view chunk, PointSink& sink) {
  const std::string_view typed = chunk.substr(kHeader - 1);
  const auto* bytes = reinterpret_cast<const unsigned char*>(typed.data());
  if (::crc32(0, bytes, static_cast<uInt>(typed.size())) != Checksum(chunk)) return Lose();
  const uint32_t type = TypeOf(chunk);
  const std::string_view body = chunk.substr(kHeader);
  if (type == kFull || type == kFirst) {
    if (open_) ++damaged_;  // its end is missing
    open_ = true;
    lost_ = false;
    too_long_ = false;
    record_.clear();
  } else if (!open_) {
    if (!lost_) ++damaged_;
    lost_ = true;
    return;
  }
  too_long_ |= record_.size() + body.size() > kMaxHeld;
  if (too_long_) {
    record_.clear();
  } else {
    record_ += body;
  }
  if (type != kFull && type != kLast) return;
  open_ = false;
  offset_ = position_;
  if (too_long_) {
    ++passed_over_;
  } else if (!records_.Read(record_, offset_ > known_, sink)) {
    ++damaged_;
  }
}

}  // namespace stoker::metrics

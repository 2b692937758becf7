// SPDX-License-Identifier: Apache-2.0
#include "metrics/event_file.h"

#include <algorithm>
#include <cstring>

#include "base/crc32c.h"

namespace stoker::metrics {
namespace {

constexpr size_t kHeader = 12;
constexpr size_t kTail = 4;

uint32_t Masked(uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xa282ead8U; }

template <typename T>
T Little(std::string_view bytes) {
  T value = 0;
  for (size_t i = 0; i < sizeof(T); ++i) {
    value |= static_cast<T>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  }
  return value;
}

}  // namespace

uint32_t MaskedCrc32c(std::string_view bytes) { return Masked(Crc32c(bytes)); }

bool EventFileReader::Feed(std::string_view bytes, PointSink& sink) {
  while (!bytes.empty() && !broken_) {
    bytes.remove_prefix(in_body_ ? TakeBody(bytes, sink) : TakeHeader(bytes));
  }
  return !broken_;
}

size_t EventFileReader::TakeHeader(std::string_view bytes) {
  const size_t take = std::min(bytes.size(), kHeader - held_.size());
  std::string_view header = bytes.substr(0, take);
  if (take < kHeader) {  // as a rule all of it is here, and nothing is copied
    held_.append(header);
    if (held_.size() < kHeader) return take;
    header = held_;
  }
  const std::string_view length = header.substr(0, 8);
  broken_ = Little<uint32_t>(header.substr(8)) != MaskedCrc32c(length);
  length_ = Little<uint64_t>(length);
  // A true checksum does not make a length of 2^63 a true one.
  if (length_ > (uint64_t{1} << 40)) broken_ = true;
  held_.clear();
  in_body_ = !broken_;
  seen_ = 0;
  crc_ = 0;
  return take;
}

size_t EventFileReader::TakeBody(std::string_view bytes, PointSink& sink) {
  if (length_ > kMaxHeld && seen_ < length_) {
    const auto take = static_cast<size_t>(std::min<uint64_t>(bytes.size(), length_ - seen_));
    crc_ = Crc32c(bytes.substr(0, take), crc_);
    seen_ += take;
    return take;
  }
  const size_t whole = (length_ > kMaxHeld ? 0 : static_cast<size_t>(length_)) + kTail;
  if (held_.empty() && bytes.size() >= whole) {  // as a rule: nothing is copied
    Record(bytes.substr(0, whole), sink);
    return whole;
  }
  const size_t take = std::min(bytes.size(), whole - held_.size());
  held_.append(bytes.substr(0, take));
  if (held_.size() == whole) Record(held_, sink);
  return take;
}

// `bytes`: the body, unless it was passed over, and its checksum.
void EventFileReader::Record(std::string_view bytes, PointSink& sink) {
  const std::string_view body = bytes.substr(0, bytes.size() - kTail);
  const uint32_t told = Little<uint32_t>(bytes.substr(body.size()));
  if (length_ > kMaxHeld) {
    ++(told == Masked(crc_) ? passed_over_ : damaged_);
  } else if (told != MaskedCrc32c(body) || !ReadEvent(body, names_, sink)) {
    ++damaged_;
  }
  End();
}

void EventFileReader::End() {
  ++records_;
  offset_ += static_cast<int64_t>(kHeader + length_ + kTail);
  held_.clear();
  in_body_ = false;
}

}  // namespace stoker::metrics

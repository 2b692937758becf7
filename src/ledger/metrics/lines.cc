// SPDX-License-Identifier: Apache-2.0
#include "ledger/metrics/lines.h"

#include <zstd.h>

#include <utility>

namespace stoker {
namespace {

constexpr size_t kLongestLine = 16 << 20;
constexpr int64_t kMaxRaw = int64_t{1} << 30;
constexpr size_t kPieceBytes = 32 << 10;

Status NoSegment(const std::string& what) {
  return Status(Code::kCorrupt, "a segment of metrics is damaged: " + what);
}

}  // namespace

struct MetricLines::State {
  ReadPacked read;
  std::string packed;  // what `context` has not taken begins at `at`
  size_t at = 0;
  ZSTD_DCtx* context = ZSTD_createDCtx();
  std::string buffer;
  size_t begin = 0;
  int64_t unpacked = 0;
  bool open = true;  // the frame has not ended
  ~State() { ZSTD_freeDCtx(context); }

  // False at the end of what is packed.
  Result<bool> Refill() {
    packed.resize(kPieceBytes);
    at = 0;
    const auto got = read(packed.data(), static_cast<int64_t>(kPieceBytes));
    packed.resize(got.ok() ? static_cast<size_t>(*got) : 0);
    if (!got.ok()) return got.status();
    return *got > 0;
  }
  Status Unpack();
};

// Some bytes more into `buffer`. At the end of the frame what is left is read, too: whoever gives
// it may look at the whole only then.
Status MetricLines::State::Unpack() {
  bool more = at < packed.size();
  if (!more) {
    STOKER_ASSIGN(more, Refill());
  }
  const size_t before = buffer.size();
  buffer.resize(before + kPieceBytes);
  ZSTD_inBuffer in{packed.data(), packed.size(), at};
  ZSTD_outBuffer out{buffer.data() + before, kPieceBytes, 0};
  const size_t code = ZSTD_decompressStream(context, &out, &in);
  buffer.resize(before + out.pos);
  if (ZSTD_isError(code)) return NoSegment(ZSTD_getErrorName(code));
  at = in.pos;
  unpacked += static_cast<int64_t>(out.pos);
  open = code != 0;
  if (open && !more && out.pos == 0) return NoSegment("it ends in the middle");
  while (!open && more) {
    STOKER_ASSIGN(more, Refill());
  }
  return Status::Ok();
}

MetricLines::MetricLines(ReadPacked read) : state_(std::make_unique<State>()) {
  state_->read = std::move(read);
  if (state_->context != nullptr) ZSTD_DCtx_setParameter(state_->context, ZSTD_d_windowLogMax, 23);
}
MetricLines::MetricLines(std::string packed)
    : MetricLines([](char*, int64_t) { return Result<int64_t>(0); }) {
  state_->packed = std::move(packed);
}
MetricLines::~MetricLines() = default;

Result<std::optional<std::string_view>> MetricLines::Next() {
  State& s = *state_;
  if (s.context == nullptr) return Status(Code::kInternal, "unpack metrics: out of memory");
  size_t looked = s.begin;
  for (;;) {
    const size_t end = s.buffer.find('\n', looked);
    if (end != s.buffer.npos) {
      const std::string_view line = std::string_view(s.buffer).substr(s.begin, end - s.begin);
      s.begin = end + 1;
      return std::optional(line);
    }
    looked = s.buffer.size() - s.begin;
    s.buffer.erase(0, s.begin);
    s.begin = 0;
    if (!s.open) {
      if (!s.buffer.empty()) return NoSegment("its last line has no end");
      return std::optional<std::string_view>();
    }
    if (s.buffer.size() > kLongestLine || s.unpacked > kMaxRaw) return NoSegment("it is too large");
    STOKER_TRY(s.Unpack());
  }
}

}  // namespace stoker

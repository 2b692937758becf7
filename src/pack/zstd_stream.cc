// SPDX-License-Identifier: Apache-2.0
#include "pack/zstd_stream.h"

#include <zstd.h>

#include <algorithm>
#include <memory>

#include "base/text.h"

namespace stoker::pack {
namespace {

constexpr int kLevel = 3;
constexpr size_t kChunk = 128 << 10;
// What the encoder's level 3 uses for large input; more would only cost the reader memory.
constexpr int kMaxWindowLog = 21;

Status Corrupt(std::string why) { return Status(Code::kCorrupt, "archive is damaged: " + why); }

}  // namespace

struct ZstdWriter::State {
  ZSTD_CCtx* context = ZSTD_createCCtx();
  const size_t size = ZSTD_CStreamOutSize();
  const std::unique_ptr<char[]> buffer{new char[size]};  // not zeroed: most archives are small
  ~State() { ZSTD_freeCCtx(context); }
};

ZstdWriter::ZstdWriter(ByteSink sink, int64_t expected)
    : state_(std::make_unique<State>()), sink_(std::move(sink)) {
  int size = 12;
  while (size < kMaxWindowLog && (int64_t{1} << size) < expected) ++size;
  ZSTD_CCtx_setParameter(state_->context, ZSTD_c_compressionLevel, kLevel);
  ZSTD_CCtx_setParameter(state_->context, ZSTD_c_checksumFlag, 1);
  ZSTD_CCtx_setParameter(state_->context, ZSTD_c_windowLog, std::max(size, 17));
  // The tables of level 3 are a megabyte to clear; a small input needs no more than its own size.
  ZSTD_CCtx_setParameter(state_->context, ZSTD_c_hashLog, std::min(size, 17));
  ZSTD_CCtx_setParameter(state_->context, ZSTD_c_chainLog, std::min(size, 16));
}
ZstdWriter::~ZstdWriter() = default;

Status ZstdWriter::Write(std::string_view data) {
  in_ += static_cast<int64_t>(data.size());
  return Run(data, false);
}

Status ZstdWriter::Finish() { return Run("", true); }

Status ZstdWriter::Run(std::string_view data, bool last) {
  ZSTD_inBuffer in = {data.data(), data.size(), 0};
  while (true) {
    ZSTD_outBuffer out = {state_->buffer.get(), state_->size, 0};
    const size_t left =
        ZSTD_compressStream2(state_->context, &out, &in, last ? ZSTD_e_end : ZSTD_e_continue);
    if (ZSTD_isError(left)) {
      return Status(Code::kInternal, std::string("zstd: ") + ZSTD_getErrorName(left));
    }
    out_ += static_cast<int64_t>(out.pos);
    if (out.pos > 0) STOKER_TRY(sink_({state_->buffer.get(), out.pos}));
    if (last ? left == 0 : in.pos == in.size) return Status::Ok();
  }
}

struct ZstdReader::State {
  ZSTD_DCtx* context = ZSTD_createDCtx();
  const std::unique_ptr<char[]> buffer{new char[kChunk]};
  ZSTD_inBuffer in = {buffer.get(), 0, 0};
  bool checked = false;   // the frame's header was looked at
  bool finished = false;  // the frame is complete
  ~State() { ZSTD_freeDCtx(context); }
};

ZstdReader::ZstdReader(ByteSource source, const ZstdLimits& limits)
    : state_(std::make_unique<State>()), source_(std::move(source)), limits_(limits) {
  // No archive of ours needs more; a hostile one could ask for gigabytes.
  ZSTD_DCtx_setParameter(state_->context, ZSTD_d_windowLogMax, 27);
}
ZstdReader::~ZstdReader() = default;

Result<int64_t> ZstdReader::Read(char* buffer, int64_t size) {
  if (!failed_.ok()) return failed_;
  if (size <= 0) return int64_t{0};
  Result<int64_t> got = Step(buffer, size);
  if (!got.ok()) failed_ = got.status();
  return got;
}

Result<bool> ZstdReader::Refill() {
  State& s = *state_;
  STOKER_ASSIGN(int64_t got, source_(s.buffer.get(), static_cast<int64_t>(kChunk)));
  s.in = {s.buffer.get(), static_cast<size_t>(got), 0};
  if (got > 0 && !s.checked) {
    s.checked = true;
    // Byte 4, bit 2 of a frame says that a checksum ends it (RFC 8878, 3.1.1.1.1).
    const bool zstd =
        got >= 5 && StartsWith({s.buffer.get(), static_cast<size_t>(got)}, "\x28\xb5\x2f\xfd");
    if (!zstd) return Corrupt("it is not in zstd form");
    if ((static_cast<unsigned char>(s.buffer[4]) & 4) == 0) return Corrupt("it has no checksum");
  }
  return got > 0;
}

Result<int64_t> ZstdReader::Step(char* buffer, int64_t size) {
  State& s = *state_;
  ZSTD_outBuffer out = {buffer, static_cast<size_t>(size), 0};
  while (out.pos == 0) {
    if (s.finished) {
      if (s.in.pos < s.in.size) return Corrupt("bytes follow its end");
      STOKER_ASSIGN(bool more, Refill());
      if (more) return Corrupt("bytes follow its end");
      return int64_t{0};
    }
    // The decoder may still hold output when all input is taken, so it is asked before refilling.
    const size_t before = s.in.pos;
    const bool had_input = s.in.pos < s.in.size;
    if (!had_input) {
      STOKER_ASSIGN(bool more, Refill());
      if (!more) return Corrupt("it is cut short");
    }
    const size_t left = ZSTD_decompressStream(s.context, &out, &s.in);
    if (ZSTD_isError(left)) return Corrupt(ZSTD_getErrorName(left));
    in_ += static_cast<int64_t>(s.in.pos - (had_input ? before : 0));
    s.finished = left == 0;
  }
  out_ += static_cast<int64_t>(out.pos);
  if (out_ > limits_.max_out) {
    return Status(Code::kInvalid, "archive unpacks to more than " + HumanSize(limits_.max_out));
  }
  if (out_ > limits_.ratio_floor && out_ / limits_.max_ratio > in_) {
    return Status(Code::kInvalid, "archive unpacks to more than " +
                                      std::to_string(limits_.max_ratio) + " times its size");
  }
  return static_cast<int64_t>(out.pos);
}

}  // namespace stoker::pack

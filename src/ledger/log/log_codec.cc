// SPDX-License-Identifier: Apache-2.0
#include "ledger/log/log_codec.h"

#include <zstd.h>

#include <cstring>
#include <utility>

namespace stoker {
namespace {

// Readers accept what other builds may write, up to 8 MiB.
constexpr int kMaxWindowLog = 23;
constexpr size_t kStep = 128 * 1024;
constexpr size_t kGather = 64 * 1024;

Status ZstdStatus(const char* what, size_t code) {
  return Status(Code::kInternal, std::string(what) + ": " + ZSTD_getErrorName(code));
}

}  // namespace

struct LogCompressor::State {
  explicit State(const Packing& how) : packing(how) {}
  const Packing packing;
  ZSTD_CCtx* context = nullptr;
  std::string in;  // gathered so that many small pieces cost few calls
  std::string out;
  bool begun = false;  // zstd has seen some of it
  ~State() { ZSTD_freeCCtx(context); }
};

LogCompressor::LogCompressor(const Packing& packing) : state_(std::make_unique<State>(packing)) {}
LogCompressor::~LogCompressor() = default;

namespace {

Status Pump(ZSTD_CCtx* context, std::string_view text, ZSTD_EndDirective how, std::string& out) {
  ZSTD_inBuffer in{text.data(), text.size(), 0};
  size_t left = 0;
  do {
    size_t used = out.size();
    out.resize(used + 32 * 1024);
    ZSTD_outBuffer piece{out.data() + used, 32 * 1024, 0};
    left = ZSTD_compressStream2(context, &piece, &in, how);
    out.resize(used + piece.pos);
    if (ZSTD_isError(left)) return ZstdStatus("compress log", left);
  } while (in.pos < in.size || (how == ZSTD_e_end && left != 0));
  return Status::Ok();
}

}  // namespace

Status LogCompressor::Add(std::string_view text) {
  if (state_->context == nullptr) {
    state_->context = ZSTD_createCCtx();
    if (state_->context == nullptr) return Status(Code::kInternal, "compress log: out of memory");
    const Packing& how = state_->packing;
    ZSTD_CCtx_setParameter(state_->context, ZSTD_c_compressionLevel, how.level);
    ZSTD_CCtx_setParameter(state_->context, ZSTD_c_windowLog, how.window_log);
    ZSTD_CCtx_setParameter(state_->context, ZSTD_c_hashLog, how.table_log);
    ZSTD_CCtx_setParameter(state_->context, ZSTD_c_chainLog, how.table_log);
    ZSTD_CCtx_setParameter(state_->context, ZSTD_c_checksumFlag, 1);
  }
  if (state_->in.empty() && text.size() >= kGather) {
    state_->begun = true;
    return Pump(state_->context, text, ZSTD_e_continue, state_->out);
  }
  state_->in += text;
  if (state_->in.size() < kGather) return Status::Ok();
  state_->begun = true;
  Status packed = Pump(state_->context, state_->in, ZSTD_e_continue, state_->out);
  state_->in.clear();
  return packed;
}

std::string LogCompressor::TakePacked() { return std::exchange(state_->out, std::string()); }

Result<std::string> LogCompressor::Finish() {
  if (state_->context == nullptr) STOKER_TRY(Add(""));
  // The size of a small one is known: zstd then works in tables of that size, not of the window's.
  if (!state_->begun) ZSTD_CCtx_setPledgedSrcSize(state_->context, state_->in.size());
  state_->begun = false;
  STOKER_TRY(Pump(state_->context, state_->in, ZSTD_e_end, state_->out));
  state_->in.clear();
  ZSTD_CCtx_reset(state_->context, ZSTD_reset_session_only);
  return std::exchange(state_->out, std::string());
}

struct SegmentDecoder::State {
  std::string packed;
  int64_t lines_left = 0;
  ZSTD_DCtx* context = nullptr;
  size_t in_pos = 0;
  bool frame_open = false;
  std::string buffer;  // unpacked and not yet returned, from `begin` on
  size_t begin = 0;
  int64_t unpacked = 0;
  int64_t returned = 0;
  std::string_view last;
  Status failure;
  std::unique_ptr<char[]> step;  // what comes out of the frame at once
  ~State() { ZSTD_freeDCtx(context); }

  bool more_input() const { return in_pos < packed.size() || frame_open; }
  Status Fill();
};

// Unpacks about kStep more bytes into `buffer`.
Status SegmentDecoder::State::Fill() {
  if (context == nullptr) {
    context = ZSTD_createDCtx();
    if (context == nullptr) return Status(Code::kInternal, "unpack log: out of memory");
    ZSTD_DCtx_setParameter(context, ZSTD_d_windowLogMax, kMaxWindowLog);
  }
  buffer.erase(0, begin);
  begin = 0;
  if (step == nullptr) step.reset(new char[kStep]);  // not zeroed: most segments are short
  ZSTD_inBuffer in{packed.data(), packed.size(), in_pos};
  ZSTD_outBuffer out{step.get(), kStep, 0};
  size_t code = ZSTD_decompressStream(context, &out, &in);
  buffer.append(step.get(), out.pos);
  if (ZSTD_isError(code)) return Status(Code::kCorrupt, ZSTD_getErrorName(code));
  bool progress = in.pos != in_pos || out.pos != 0;
  in_pos = in.pos;
  unpacked += static_cast<int64_t>(out.pos);
  frame_open = code != 0;
  if (unpacked > kMaxSegmentRaw) return Status(Code::kCorrupt, "unpacks to more than 64 MiB");
  if (frame_open && !progress) return Status(Code::kCorrupt, "ends in the middle");
  return Status::Ok();
}

SegmentDecoder::SegmentDecoder(std::string packed, int64_t lines)
    : state_(std::make_unique<State>()) {
  state_->packed = std::move(packed);
  state_->lines_left = lines;
}
SegmentDecoder::~SegmentDecoder() = default;

Result<std::optional<RecordView>> SegmentDecoder::Next() {
  State& s = *state_;
  s.last = {};
  if (!s.failure.ok()) return s.failure;
  auto fail = [&s](Status why) {
    s.failure = std::move(why);
    return s.failure;
  };
  size_t searched = s.begin;
  while (true) {
    size_t newline = s.lines_left > 0 ? s.buffer.find('\n', searched) : std::string::npos;
    if (newline != std::string::npos) {
      s.last = std::string_view(s.buffer).substr(s.begin, newline + 1 - s.begin);
      s.begin = newline + 1;
      std::optional<RecordView> record = ParseRecord(s.last.substr(0, s.last.size() - 1));
      if (!record || s.last.size() > static_cast<size_t>(kMaxLogRecordBytes)) {
        return fail(Status(Code::kCorrupt, "holds a line that is not a record"));
      }
      --s.lines_left;
      s.returned += static_cast<int64_t>(s.last.size());
      return record;
    }
    if (s.buffer.size() - s.begin > static_cast<size_t>(kMaxLogRecordBytes) ||
        (s.lines_left == 0 && s.buffer.size() > s.begin)) {
      return fail(Status(Code::kCorrupt, "holds more than its name says"));
    }
    if (!s.more_input()) {
      if (s.lines_left == 0 && s.buffer.size() == s.begin) return std::optional<RecordView>();
      return fail(Status(Code::kCorrupt, "holds fewer lines than its name says"));
    }
    size_t pending = s.buffer.size() - s.begin;
    Status filled = s.Fill();
    if (!filled.ok()) return fail(std::move(filled));
    searched = pending;
  }
}

Status SegmentDecoder::Rest(LogCompressor& out) {
  State& s = *state_;
  STOKER_TRY(s.failure);
  while (true) {
    const std::string_view piece = std::string_view(s.buffer).substr(s.begin);
    STOKER_TRY(out.Add(piece));
    s.returned += static_cast<int64_t>(piece.size());
    s.begin = s.buffer.size();
    if (!s.more_input()) return Status::Ok();
    STOKER_TRY(s.Fill());
  }
}

std::string_view SegmentDecoder::raw() const { return state_->last; }
int64_t SegmentDecoder::raw_bytes() const { return state_->returned; }

}  // namespace stoker

// SPDX-License-Identifier: Apache-2.0
#include "agent/log_merge.h"

#include <algorithm>
#include <utility>

#include "ledger/log/log_codec.h"

namespace stoker {
namespace {

int64_t Known(const std::map<std::string, int64_t>& raw, const std::string& key) {
  auto at = raw.find(key);
  return at == raw.end() ? 0 : at->second;
}

// Reads every record of `packed`. Gives the unpacked size.
Result<int64_t> Check(const std::string& packed, int64_t lines) {
  SegmentDecoder decoder(packed, lines);
  while (true) {
    STOKER_ASSIGN(const std::optional<RecordView> record, decoder.Next());
    if (!record) return decoder.raw_bytes();
  }
}

Result<std::string> Fetch(ObjectStore& store, const LogSegment& segment) {
  if (segment.size > kMaxSegmentObject) {
    return Status(Code::kCorrupt, segment.key + " is larger than any segment");
  }
  Result<Object> object = store.Get(segment.key);
  if (!object.ok()) return object.status().WithContext("read " + segment.key);
  return std::move(object.value().data);
}

}  // namespace

std::optional<MergeRange> PlanMerge(const std::vector<LogSegment>& segments,
                                    const std::map<std::string, int64_t>& raw,
                                    const MergeLimits& limits) {
  for (size_t begin = 0; begin + limits.least <= segments.size(); ++begin) {
    int64_t packed = 0;
    int64_t unpacked = 0;
    int64_t largest = 0;
    size_t best = 0;
    for (size_t i = begin; i < segments.size(); ++i) {
      const LogSegment& segment = segments[i];
      if (i > begin && segments[i - 1].end() != segment.first) break;
      packed += segment.size;
      unpacked += Known(raw, segment.key);
      if (packed > limits.max_packed || unpacked > limits.max_raw) break;
      largest = std::max(largest, segment.size);
      size_t count = i - begin + 1;
      if (count >= limits.least && largest * 2 <= packed) best = count;
    }
    if (best > 0) return MergeRange{begin, best};
  }
  return std::nullopt;
}

Result<MergeOutcome> MergeSegments(ObjectStore& store, const std::string& job,
                                   const std::vector<LogSegment>& parts,
                                   const MergeLimits& limits) {
  MergeOutcome outcome;
  LogCompressor compressor;
  int64_t total = 0;
  for (const LogSegment& part : parts) {
    Result<std::string> packed = Fetch(store, part);
    if (!packed.ok() && packed.code() != Code::kCorrupt) return packed.status();
    // Counted before anything is added, so that a damaged part leaves no half of itself behind.
    Result<int64_t> raw = packed.ok() ? Check(*packed, part.lines) : packed.status();
    if (!raw.ok() && raw.code() != Code::kCorrupt) return raw.status();
    if (!raw.ok()) {
      outcome.bad = part.key;
      break;
    }
    outcome.raw[part.key] = *raw;
    if (total + *raw > limits.max_raw) break;
    total += *raw;
    STOKER_TRY(SegmentDecoder(std::move(*packed), part.lines).Rest(compressor));
    outcome.parts.push_back(part);
  }
  if (outcome.parts.size() < 2) {
    outcome.parts.clear();
    return outcome;
  }
  LogSegment merged = outcome.parts.front();
  merged.lines = outcome.parts.back().end() - merged.first;
  merged.key = SegmentKey(job, merged.attempt, merged.rank, merged.first, merged.lines);
  STOKER_ASSIGN(const std::string data, compressor.Finish());
  merged.size = static_cast<int64_t>(data.size());
  Result<Version> put = store.Put(merged.key, data, Condition::Absent());
  if (put.code() == Code::kExists && !put.ok()) {
    // Ours, by a process that died before it deleted the parts, or whose answer was lost.
    STOKER_TRY(VerifySegment(store, merged));
  } else if (!put.ok()) {
    return put.status().WithContext("merge log segments");
  }
  outcome.raw[merged.key] = total;
  outcome.merged = std::move(merged);
  return outcome;
}

Status VerifySegment(ObjectStore& store, const LogSegment& segment) {
  STOKER_ASSIGN(const std::string packed, Fetch(store, segment));
  Result<int64_t> raw = Check(packed, segment.lines);
  return raw.ok() ? Status::Ok() : raw.status().WithContext(segment.key);
}

}  // namespace stoker

// SPDX-License-Identifier: Apache-2.0
#include "node/metrics/log_sieve.h"

#include "base/text.h"
#include "ledger/log/log_record.h"
#include "metrics/log_words.h"

namespace stoker::node {

int64_t LogSieve::Sift(int64_t first, std::string_view records,
                       const std::function<void(int64_t first, std::string_view records)>& keep) {
  size_t begin = 0;  // of the run that is kept
  int64_t begin_line = first;
  int64_t line = first;
  for (size_t at = 0; at < records.size(); ++line) {
    const size_t newline = records.find('\n', at);
    const size_t end = newline == records.npos ? records.size() : newline + 1;
    const std::string_view record =
        records.substr(at, (newline == records.npos ? end : newline) - at);
    if (!Wanted(record)) {
      if (begin < at) keep(begin_line, records.substr(begin, at - begin));
      begin = end;
      begin_line = line + 1;
    }
    at = end;
  }
  if (begin < records.size()) keep(begin_line, records.substr(begin));
  return line - first;
}

bool LogSieve::Wanted(std::string_view record) {
  if (header_.empty() || !StartsWith(record, header_)) {
    const auto read = ParseRecord(record);
    header_ = read ? record.substr(0, record.size() - read->text.size()) : "";
    ours_ = read && read->stream != LogStream::kSystem;
    continues_ = read && read->continues;
    stream_ = read && read->stream == LogStream::kErr ? 1 : 0;
  }
  if (!ours_) return false;
  const bool part = continues_ || open_[stream_];
  open_[stream_] = continues_;
  if (part || all_) return true;
  return metrics::MayHoldMetrics(record.substr(header_.size()));
}

}  // namespace stoker::node

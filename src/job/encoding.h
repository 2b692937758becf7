// SPDX-License-Identifier: Apache-2.0
// The durable JSON form of a job record and of a node's report. docs/ledger.md describes it for
// people. What is decoded comes from a bucket and is untrusted: sizes, depth, types and ranges are
// checked, and names that become paths are safe ones.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "job/job.h"

namespace stoker {

// No record or report is larger; a bigger one is refused unread.
inline constexpr size_t kMaxRecordBytes = size_t{8} << 20;

// Members of `extra` that this version does not know are written back where they were. Bytes that
// are no UTF-8 become U+FFFD. A record keeps the `format` that it was created with.
std::string EncodeJob(const Job& job);
std::string EncodeReport(const NodeReport& report);

// `key` is where the text came from, for the message. kTooNew: written by a newer stoker, do not
// touch; kCorrupt: names the key and the field that is wrong.
Result<Job> DecodeJob(const std::string& key, std::string_view text);
Result<NodeReport> DecodeReport(const std::string& key, std::string_view text);

}  // namespace stoker

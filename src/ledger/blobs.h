// SPDX-License-Identifier: Apache-2.0
// Code archives and stoker binaries, named by the SHA-256 of their content.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "ledger/ledger.h"
#include "ledger/scan.h"

namespace stoker {

// A copy of a blob is named by the content and by the period of 15 days, of the store's clock, in
// which it was written: whoever needs one that is older than a period writes another beside it, and
// what is old enough to be collected is never written again.
inline constexpr Duration kBlobPeriod = Duration::Hours(24 * 15);

struct BlobCopy {
  std::string key;
  std::string sha256;
  int64_t period = 0;
  int64_t size = 0;
  Duration age;  // since it was written, by the store's clock
};

inline int64_t BlobPeriod(WallTime store_now) { return store_now.ms / kBlobPeriod.ms; }

// None: the object's name is not that of a copy.
std::optional<BlobCopy> ParseBlobCopy(const Listed& found);

// The key that a copy of the blob `sha256` is to be written to now; nullopt: a young one of `size`
// bytes is there. To be written without condition: the content is the same whoever writes it, and a
// damaged one of now goes.
Result<std::optional<std::string>> KeyForBlob(Ledger& ledger, const std::string& sha256,
                                              int64_t size);
// The newest copy; kNotFound when there is none.
Result<BlobCopy> FindBlob(Ledger& ledger, const std::string& sha256);

// Makes sure that a young copy of the blob `sha256` is there. The caller has hashed the content: it
// is not hashed again here. Returns whether it was uploaded. For files: SendBlob, in checkpoint/.
Result<bool> PutBlobText(Ledger& ledger, const std::string& sha256, std::string_view content);

// Gives the content of the newest copy to `sink` piece by piece, then checks it. kCorrupt: it is
// not what its name says; what the sink got must be thrown away. kNotFound when there is none.
// kInvalid, before anything is read: it has more than `most` bytes. A failure of `sink` ends it.
Status FetchBlob(Ledger& ledger, const std::string& sha256,
                 const std::function<Status(std::string_view piece)>& sink,
                 int64_t most = INT64_MAX);

}  // namespace stoker

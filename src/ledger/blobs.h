// SPDX-License-Identifier: Apache-2.0
// Code archives and stoker binaries, named by the SHA-256 of their content.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "ledger/ledger.h"

namespace stoker {

// A blob that nothing refers to goes 30 days after it was written; one in use is written again
// before.
inline constexpr Duration kRefreshBlob = Duration::Hours(24 * 15);

// Makes sure that the blob `sha256` is there and young: [0, size) of `fd` is uploaded unless it is.
// The caller has hashed the content: it is not hashed again here. Returns whether it was uploaded.
Result<bool> PutBlob(Ledger& ledger, const std::string& sha256, int fd, int64_t size);
Result<bool> PutBlobText(Ledger& ledger, const std::string& sha256, std::string_view content);

// Gives the content to `sink` piece by piece, then checks it. kCorrupt: it is not what its name
// says; what the sink got must be thrown away. kNotFound when there is none. A failure of `sink`
// ends it.
Status FetchBlob(Ledger& ledger, const std::string& sha256,
                 const std::function<Status(std::string_view piece)>& sink);

}  // namespace stoker

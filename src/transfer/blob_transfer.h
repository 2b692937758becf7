// SPDX-License-Identifier: Apache-2.0
// Code archives and stoker binaries on their way to and from the store, by the engine of
// transfer.h. What they are called there: ledger/blobs.h.
#pragma once

#include <memory>
#include <string>

#include "ledger/ledger.h"
#include "port/checkpoint_files.h"
#include "transfer/transfer.h"

namespace stoker {

// Makes sure that a young copy of the blob `sha256` is there: the first file of `file` is sent
// unless it is, in parts where it is large. The caller has hashed it: it is not hashed again here.
// Blocks. Returns whether it was sent.
Result<bool> SendBlob(Ledger& ledger, const Movers& movers, const std::string& sha256,
                      std::shared_ptr<Snapshot> file);

// Fetches the newest copy into the file `as` of `into` (mode 0600), in ranges where it is large.
// Blocks. kCorrupt: it is not what its name says; kNotFound: there is none. Then there is no file.
Status FetchBlobFile(Ledger& ledger, const Movers& movers, const std::string& sha256,
                     const std::string& as, DirectoryWriter& into);

}  // namespace stoker

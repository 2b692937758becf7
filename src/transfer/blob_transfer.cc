// SPDX-License-Identifier: Apache-2.0
#include "transfer/blob_transfer.h"

#include <utility>

#include "ledger/blobs.h"
#include "transfer/fetch.h"
#include "transfer/staged_upload.h"

namespace stoker {

Result<bool> SendBlob(Ledger& ledger, const Movers& movers, const std::string& sha256,
                      std::shared_ptr<Snapshot> file) {
  StagedFile staged;
  staged.fact = file->files().front();
  staged.snapshot = std::move(file);
  STOKER_ASSIGN(const auto key, KeyForBlob(ledger, sha256, staged.fact.size));
  if (!key) return false;
  const Status sent = SendStaged(ledger.store(), movers, {{*key, &staged}}, [](StagedFile*) {});
  if (!sent.ok()) return sent.WithContext("uploading " + *key);
  return true;
}

Status FetchBlobFile(Ledger& ledger, const Movers& movers, const std::string& sha256,
                     const std::string& as, DirectoryWriter& into) {
  STOKER_ASSIGN(const BlobCopy copy, FindBlob(ledger, sha256));
  const WantedFile wanted{copy.key, as, copy.size, sha256, 0600};
  const Status fetched = FetchFiles(ledger.store(), movers, {wanted}, into);
  if (!fetched.Is(Code::kCorrupt)) return fetched.WithContext("fetching " + copy.key);
  return Status(
      Code::kCorrupt, copy.key + ": its content is not what its name says",
      "Submit the job again: that uploads what is missing or damaged after you delete it");
}

}  // namespace stoker

// SPDX-License-Identifier: Apache-2.0
#include "ledger/blobs.h"

#include <memory>

#include "base/text.h"
#include "job/digest.h"
#include "ledger/paths.h"

namespace stoker {
namespace {

constexpr int64_t kPiece = 1 << 18;

Status CheckDigest(const std::string& sha256) {
  if (sha256.size() == 64 && sha256.find_first_not_of("0123456789abcdef") == std::string::npos) {
    return Status::Ok();
  }
  return Status(Code::kInvalid, "not a blob's name: '" + Printable(sha256.substr(0, 80)) + "'");
}

// A listing of one key tells its age by the store's own clock.
Result<bool> IsThere(Ledger& ledger, const std::string& key, int64_t size) {
  const auto page = ledger.store().List(key, "", 1);
  if (!page.ok()) return page.status().WithContext("looking for " + key);
  if (page->objects.empty() || page->objects[0].key != key) return false;
  const ObjectInfo& blob = page->objects[0];
  return blob.size == size && page->store_now - blob.last_modified < kRefreshBlob;
}

Result<bool> PutUnlessThere(Ledger& ledger, const std::string& sha256, int64_t size,
                            const std::function<Status(Upload&)>& write) {
  STOKER_TRY(CheckDigest(sha256));
  const std::string key = paths::Blob(sha256);
  STOKER_ASSIGN(const bool there, IsThere(ledger, key, size));
  if (there) return false;
  // Without condition: the content is the same whoever writes it, and an old or damaged one goes.
  auto upload = ledger.store().BeginUpload(key);
  if (!upload.ok()) return upload.status().WithContext("uploading " + key);
  const Status written = write(**upload);
  if (!written.ok()) return written.WithContext("uploading " + key);
  const auto committed = (*upload)->Commit();
  if (!committed.ok()) return committed.status().WithContext("uploading " + key);
  return true;
}

}  // namespace

Result<bool> PutBlob(Ledger& ledger, const std::string& sha256, int fd, int64_t size) {
  return PutUnlessThere(ledger, sha256, size,
                        [&](Upload& upload) { return upload.WriteFile(fd, size); });
}

Result<bool> PutBlobText(Ledger& ledger, const std::string& sha256, std::string_view content) {
  return PutUnlessThere(ledger, sha256, static_cast<int64_t>(content.size()),
                        [&](Upload& upload) { return upload.Write(content); });
}

Status FetchBlob(Ledger& ledger, const std::string& sha256,
                 const std::function<Status(std::string_view piece)>& sink) {
  STOKER_TRY(CheckDigest(sha256));
  const std::string key = paths::Blob(sha256);
  auto download = ledger.store().OpenDownload(key);
  if (!download.ok()) return download.status().WithContext("fetching " + key);
  const std::unique_ptr<char[]> buffer(new char[kPiece]);
  Sha256 hash;
  while (true) {
    const auto got = (*download)->Read(buffer.get(), kPiece);
    if (!got.ok()) return got.status().WithContext("fetching " + key);
    if (*got == 0) break;
    const std::string_view piece(buffer.get(), static_cast<size_t>(*got));
    hash.Update(piece);
    STOKER_TRY(sink(piece));
  }
  if (hash.Hex() == sha256) return Status::Ok();
  return Status(
      Code::kCorrupt, key + ": its content is not what its name says",
      "Submit the job again: that uploads what is missing or damaged after you delete it");
}

}  // namespace stoker

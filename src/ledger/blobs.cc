// SPDX-License-Identifier: Apache-2.0
#include "ledger/blobs.h"

#include <algorithm>
#include <charconv>
#include <memory>
#include <utility>

#include "base/digest.h"
#include "base/text.h"
#include "ledger/paths.h"

namespace stoker {
namespace {

constexpr int64_t kPiece = 1 << 18;

bool IsDigest(std::string_view sha256) {
  return sha256.size() == 64 &&
         sha256.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

Status CheckDigest(const std::string& sha256) {
  if (IsDigest(sha256)) return Status::Ok();
  return Status(Code::kInvalid, "not a blob's name: '" + Printable(sha256.substr(0, 80)) + "'");
}

// A name of the future is nobody's: it would hide what is written now.
bool IsOfTheFuture(const BlobCopy& copy, WallTime store_now) {
  // One server's clock may be ahead of another's when a period begins.
  return copy.period > BlobPeriod(store_now) + 1;
}

struct Newest {
  std::optional<BlobCopy> copy;
  WallTime store_now;
};

Result<Newest> NewestCopy(Ledger& ledger, const std::string& sha256) {
  STOKER_TRY(CheckDigest(sha256));
  const std::string prefix = paths::Blobs() + sha256;
  Newest newest;
  const auto listed = ListBelow(ledger.store(), prefix, &newest.store_now);
  if (!listed.ok()) return listed.status().WithContext("looking for " + prefix);
  for (const Listed& found : *listed) {
    auto copy = ParseBlobCopy(found);
    if (!copy || IsOfTheFuture(*copy, found.now)) continue;
    newest.copy = std::move(copy);  // they come in order
  }
  return newest;
}

}  // namespace

std::optional<BlobCopy> ParseBlobCopy(const Listed& found) {
  std::string_view name = found.object.key;
  name.remove_prefix(std::min(name.size(), paths::Blobs().size()));
  const std::string_view digest = name.substr(0, 64);
  if (!IsDigest(digest) || name.size() < 66 || name[64] != '-') return std::nullopt;
  int64_t period = 0;
  const std::string_view digits = name.substr(65);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), period);
  BlobCopy copy{found.object.key, std::string(digest), period, found.object.size,
                found.now - found.object.last_modified};
  // Only names as they are written: two of one period are one.
  if (error != std::errc() || period < 0 || paths::Blob(copy.sha256, period) != copy.key) {
    return std::nullopt;
  }
  return copy;
}

Result<std::optional<std::string>> KeyForBlob(Ledger& ledger, const std::string& sha256,
                                              int64_t size) {
  STOKER_ASSIGN(const Newest newest, NewestCopy(ledger, sha256));
  if (newest.copy && newest.copy->size == size && newest.copy->age < kBlobPeriod) {
    return std::optional<std::string>();
  }
  return std::optional<std::string>(paths::Blob(sha256, BlobPeriod(newest.store_now)));
}

Result<BlobCopy> FindBlob(Ledger& ledger, const std::string& sha256) {
  STOKER_ASSIGN(Newest newest, NewestCopy(ledger, sha256));
  if (!newest.copy) return Status(Code::kNotFound, "there is no blob " + sha256);
  return std::move(*newest.copy);
}

Result<bool> PutBlobText(Ledger& ledger, const std::string& sha256, std::string_view content) {
  STOKER_ASSIGN(const auto key, KeyForBlob(ledger, sha256, static_cast<int64_t>(content.size())));
  if (!key) return false;
  const auto put = [&]() -> Result<Version> {
    STOKER_ASSIGN(const auto upload, ledger.store().BeginUpload(*key));
    STOKER_TRY(upload->Write(content));
    return upload->Commit();
  }();
  if (!put.ok()) return put.status().WithContext("uploading " + *key);
  return true;
}

Status FetchBlob(Ledger& ledger, const std::string& sha256,
                 const std::function<Status(std::string_view piece)>& sink, int64_t most) {
  STOKER_ASSIGN(const BlobCopy copy, FindBlob(ledger, sha256));
  const std::string& key = copy.key;
  if (copy.size > most) {
    return Status(Code::kInvalid, key + ": it is larger than " + std::to_string(most) + " bytes");
  }
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

// SPDX-License-Identifier: Apache-2.0
#include "store/s3/s3_store.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "net/http_date.h"
#include "net/percent.h"
#include "store/s3/s3_answer.h"
#include "store/s3/s3_download.h"
#include "store/s3/s3_parts.h"
#include "store/s3/s3_upload.h"

namespace stoker {
namespace {

constexpr size_t kMostKey = 1024;  // "Naming Amazon S3 objects": with the prefix
constexpr int kMaxPage = 1000;     // the service gives no more

}  // namespace

Result<std::unique_ptr<S3Store>> S3Store::Open(S3StoreOptions options) {
  if (!options.prefix.empty() && !IsSafeRelativePath(options.prefix)) {
    return Status(Code::kInvalid, "'" + Printable(options.prefix) + "' cannot be a store's prefix",
                  "Name the store as s3://bucket/prefix");
  }
  options.client.stopped = options.stopped;
  STOKER_ASSIGN(auto client, s3::Client::Make(options.client));
  return std::unique_ptr<S3Store>(new S3Store(std::move(options), std::move(client)));
}

S3Store::S3Store(S3StoreOptions options, std::unique_ptr<s3::Client> client)
    : options_(std::move(options)),
      root_(options_.prefix.empty() ? "" : options_.prefix + "/"),
      url_("s3://" + options_.client.bucket + (root_.empty() ? "" : "/" + options_.prefix)),
      client_(std::move(client)),
      carrier_(*client_, options_.retry, options_.seed, options_.stopped) {
  traits_.part_bytes = options_.part_bytes;
}

S3Store::~S3Store() = default;

Status S3Store::CheckKey(const std::string& key) const {
  if (IsSafeRelativePath(key) && root_.size() + key.size() <= kMostKey) return Status::Ok();
  return Status(Code::kInvalid, "'" + Printable(key.substr(0, 200)) + "' cannot be a key");
}

Result<Object> S3Store::Get(const std::string& key) {
  STOKER_TRY(CheckKey(key));
  return bucket::ReadAnew(carrier_, [&] { return GetOnce(key); });
}

Result<Object> S3Store::GetOnce(const std::string& key) {
  STOKER_ASSIGN(const auto download, s3::OpenDownload(carrier_, root_ + key, key));
  return bucket::ReadObject(*download, url_ + "/" + key);
}

Result<Version> S3Store::Put(const std::string& key, std::string_view data,
                             const Condition& condition) {
  STOKER_TRY(CheckKey(key));
  return s3::PutWhole(carrier_, root_ + key, std::string(data), condition,
                      options_.type_of ? options_.type_of(key) : "");
}

Result<ObjectInfo> S3Store::Head(const std::string& key) {
  STOKER_TRY(CheckKey(key));
  const s3::Request request{.method = "HEAD", .key = root_ + key};
  STOKER_ASSIGN(const HttpResponse answer, carrier_.Call(request));
  STOKER_ASSIGN(ObjectInfo info, s3::InfoOf(carrier_.Describe(request), answer.headers));
  info.key = key;
  return info;
}

Status S3Store::Delete(const std::string& key) {
  STOKER_TRY(CheckKey(key));
  const auto answer = carrier_.Call({.method = "DELETE", .key = root_ + key});
  return answer.status().Is(Code::kNotFound) ? Status::Ok() : answer.status();
}

Result<Listing> S3Store::List(const std::string& prefix, const std::string& after, int limit) {
  const int most = std::clamp(limit, 1, kMaxPage);
  s3::Request request{.method = "GET", .query = "list-type=2&encoding-type=url&max-keys="};
  request.query += std::to_string(most) + "&prefix=" + PercentEncode(root_ + prefix);
  const std::string same = request.query;
  if (!after.empty()) request.query += "&start-after=" + PercentEncode(root_ + after);
  std::string token;
  for (int next = 2;;) {
    STOKER_ASSIGN(const HttpResponse answer, carrier_.Call(request));
    auto page = s3::ParseListing(carrier_.Describe(request), answer.body, root_);
    if (!page.ok()) {
      // What cannot be read may have been damaged on the way.
      if (carrier_.Again(next++, page.status(), false)) continue;
      return page.status();
    }
    if (page->token.empty()) {
      page->listing.store_now = DateOf(answer.headers, carrier_.ServiceNow());
      return std::move(page->listing);
    }
    if (page->token == token) {
      return Status(Code::kCorrupt, carrier_.Describe(request) + ": a list that does not go on");
    }
    token = page->token;
    request.query = same + "&continuation-token=" + PercentEncode(token);
  }
}

Result<std::unique_ptr<Upload>> S3Store::BeginUpload(const std::string& key,
                                                     const Condition& condition) {
  STOKER_TRY(CheckKey(key));
  return s3::BeginUpload(carrier_, root_ + key, condition, options_.part_bytes, options_.parallel);
}

Result<std::unique_ptr<Download>> S3Store::OpenDownload(const std::string& key) {
  STOKER_TRY(CheckKey(key));
  STOKER_ASSIGN(auto download, s3::OpenDownload(carrier_, root_ + key, key));
  return std::unique_ptr<Download>(std::move(download));
}

Result<std::unique_ptr<ObjectReader>> S3Store::OpenReader(const ObjectInfo& info) {
  STOKER_TRY(CheckKey(info.key));
  return s3::OpenReader(carrier_, root_ + info.key, info);
}

Result<ObjectInfo> S3Store::PutFrom(const std::string& key, ObjectReader& from,
                                    const Condition& condition) {
  STOKER_TRY(CheckKey(key));
  STOKER_ASSIGN(Version version, s3::PutFrom(carrier_, root_ + key, from, condition));
  return ObjectInfo{key, from.info().size, std::move(version), {}};
}

Result<std::unique_ptr<PartsUpload>> S3Store::BeginParts(const std::string& key, int64_t size,
                                                         const Condition& condition,
                                                         const std::string& resume,
                                                         bool executable) {
  STOKER_TRY(CheckKey(key));
  return s3::BeginParts(carrier_, root_ + key, {key, size, "", {}, executable}, condition,
                        options_.part_bytes, resume);
}

std::vector<OddKey> S3Store::DeleteAll(const std::vector<std::string>& keys) {
  std::vector<OddKey> failed;
  std::vector<std::string> whole;
  for (const std::string& key : keys) {
    const Status status = CheckKey(key);
    if (!status.ok()) {
      failed.push_back({key, status});
    } else {
      whole.push_back(root_ + key);
    }
  }
  for (OddKey& each : s3::DeleteAll(carrier_, whole)) {
    failed.push_back({each.key.substr(root_.size()), std::move(each.why)});
  }
  return failed;
}

// Multipart uploads: their parts are stored, and paid for, until somebody completes or aborts them.
Result<int> S3Store::SweepUnfinished(Duration age, const Sweep& sweep) {
  int swept = 0;
  s3::UploadList page;
  do {
    s3::Request list{.method = "GET",
                     .query = "uploads=&encoding-type=url&prefix=" + PercentEncode(root_)};
    if (!page.next_key.empty()) {
      list.query += "&key-marker=" + PercentEncode(page.next_key) +
                    "&upload-id-marker=" + PercentEncode(page.next_id);
    }
    STOKER_ASSIGN(const HttpResponse answer, carrier_.Call(list));
    STOKER_ASSIGN(page, s3::ParseUploads(carrier_.Describe(list), answer.body));
    const WallTime now = DateOf(answer.headers, carrier_.ServiceNow());
    for (const s3::StaleUpload& upload : page.uploads) {
      if (now - upload.begun < age || !StartsWith(upload.key, root_)) continue;
      if (sweep.taken && !sweep.taken(upload.key.substr(root_.size()))) continue;
      if (sweep.dry_run) {
        ++swept;
        continue;
      }
      const auto aborted = carrier_.Call(
          {"DELETE", upload.key, "uploadId=" + PercentEncode(upload.id), {}, "", {}, false});
      // Its writer may have ended it in the meantime.
      if (!aborted.ok() && !aborted.status().Is(Code::kNotFound) &&
          !aborted.status().Is(Code::kInvalid)) {
        return aborted.status();
      }
      if (aborted.ok()) ++swept;
    }
  } while (!page.next_key.empty());
  return swept;
}

}  // namespace stoker

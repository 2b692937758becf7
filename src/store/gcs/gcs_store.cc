// SPDX-License-Identifier: Apache-2.0
#include "store/gcs/gcs_store.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "net/http_date.h"
#include "net/percent.h"
#include "store/gcs/gcs_answer.h"
#include "store/gcs/gcs_download.h"
#include "store/gcs/gcs_parts.h"

namespace stoker {
namespace {

constexpr size_t kMostName = 1024;
constexpr int kMaxPage = 1000;  // the service gives no more
constexpr int64_t kChunkUnit = 256 << 10;

}  // namespace

Result<std::unique_ptr<GcsStore>> GcsStore::Open(GcsStoreOptions options) {
  if (!options.prefix.empty() && !IsSafeRelativePath(options.prefix)) {
    return Status(Code::kInvalid, "'" + Printable(options.prefix) + "' cannot be a store's prefix",
                  "Name the store as gs://bucket/prefix");
  }
  if (options.chunk_bytes <= 0 || options.chunk_bytes % kChunkUnit != 0) {
    return Status(Code::kInternal, "chunks must be multiples of 256 KiB");
  }
  options.client.stopped = options.stopped;
  STOKER_ASSIGN(auto client, gcs::Client::Make(options.client));
  return std::unique_ptr<GcsStore>(new GcsStore(std::move(options), std::move(client)));
}

GcsStore::GcsStore(GcsStoreOptions options, std::unique_ptr<gcs::Client> client)
    : options_(std::move(options)),
      root_(options_.prefix.empty() ? "" : options_.prefix + "/"),
      url_("gs://" + options_.client.bucket + (root_.empty() ? "" : "/" + options_.prefix)),
      client_(std::move(client)),
      carrier_(*client_, options_.retry, options_.seed, options_.stopped) {
  traits_.part_bytes = options_.part_bytes;
}

GcsStore::~GcsStore() = default;

// "Object naming requirements": 1,024 bytes, no line breaks, and a folder that the web has taken.
// Another one is taken by parts.
Status GcsStore::CheckKey(const std::string& key) const {
  const std::string name = root_ + key;
  if (IsSafeRelativePath(key) && name.size() <= kMostName &&
      name.find_first_of("\r\n") == std::string::npos &&
      !StartsWith(name, ".well-known/acme-challenge/") && !StartsWith(name, gcs::kPartsFolder)) {
    return Status::Ok();
  }
  return Status(Code::kInvalid, "'" + Printable(key.substr(0, 200)) + "' cannot be a key");
}

Result<Object> GcsStore::Get(const std::string& key) {
  STOKER_TRY(CheckKey(key));
  return bucket::ReadAnew(carrier_, [&]() -> Result<Object> {
    STOKER_ASSIGN(const auto download, gcs::OpenDownload(bucket_, root_ + key, key));
    return bucket::ReadObject(*download, url_ + "/" + key);
  });
}

Result<Version> GcsStore::Put(const std::string& key, std::string_view data,
                              const Condition& condition) {
  STOKER_TRY(CheckKey(key));
  return gcs::PutWhole(bucket_, root_ + key, data, condition,
                       options_.type_of ? options_.type_of(key) : "");
}

Result<ObjectInfo> GcsStore::Head(const std::string& key) {
  STOKER_TRY(CheckKey(key));
  const auto request = gcs::OnObject(bucket_.name, "GET", root_ + key,
                                     "fields=name,size,generation,timeCreated,crc32c,metadata");
  STOKER_ASSIGN(const HttpResponse answer, carrier_.Call(request));
  STOKER_ASSIGN(gcs::Resource resource,
                gcs::ParseResource(carrier_.Describe(request), answer.body));
  resource.info.key = key;
  return std::move(resource.info);
}

Status GcsStore::Delete(const std::string& key) {
  STOKER_TRY(CheckKey(key));
  const auto answer = carrier_.Call(gcs::OnObject(bucket_.name, "DELETE", root_ + key));
  return answer.status().Is(Code::kNotFound) ? Status::Ok() : answer.status();
}

// The service's own order is that of the port. Its startOffset is inclusive: one more is asked for,
// and `after` itself passed over. A page may be empty though others follow.
Result<Listing> GcsStore::List(const std::string& prefix, const std::string& after, int limit) {
  const auto most = static_cast<size_t>(std::clamp(limit, 1, kMaxPage));
  const std::string first = root_ + after;
  std::string query =
      "fields=items(name,size,generation,timeCreated,metadata),nextPageToken&prefix=" +
      PercentEncode(root_ + prefix) + "&maxResults=";
  query += std::to_string(std::min<size_t>(most + (after.empty() ? 0 : 1), kMaxPage));
  if (!after.empty()) query += "&startOffset=" + PercentEncode(first);
  gcs::Page page;
  for (int next = 2;;) {
    const std::string on =
        page.page_token.empty() ? "" : "&pageToken=" + PercentEncode(page.page_token);
    const auto request = gcs::OnList(bucket_.name, query + on);
    const auto answer = carrier_.Call(request);
    if (answer.status().Is(Code::kNotFound)) {
      return Status(Code::kInvalid, answer.status().message(),
                    "Make the bucket first, or look at its name in `store`");
    }
    if (!answer.ok()) return answer.status();
    auto read = gcs::ParsePage(carrier_.Describe(request), answer->body, root_);
    if (!read.ok()) {
      // What cannot be read may have been damaged on the way.
      if (carrier_.Again(next++, read.status(), false)) continue;
      return read.status();
    }
    page = std::move(*read);
    page.listing.store_now = DateOf(answer->headers, carrier_.ServiceNow());
    std::erase_if(page.listing.objects, [&](const ObjectInfo& each) {
      return each.key <= after || StartsWith(root_ + each.key, gcs::kPartsFolder);
    });
    if (!page.listing.objects.empty() || page.page_token.empty()) break;
  }
  Listing& listing = page.listing;
  const bool more = !page.page_token.empty() || listing.objects.size() > most;
  if (listing.objects.size() > most) listing.objects.resize(most);
  if (more && !listing.objects.empty()) listing.next = listing.objects.back().key;
  return std::move(listing);
}

Result<std::unique_ptr<Upload>> GcsStore::BeginUpload(const std::string& key,
                                                      const Condition& condition) {
  STOKER_TRY(CheckKey(key));
  return gcs::BeginUpload(bucket_, root_ + key, condition, options_.chunk_bytes);
}

Result<std::unique_ptr<Download>> GcsStore::OpenDownload(const std::string& key) {
  STOKER_TRY(CheckKey(key));
  STOKER_ASSIGN(auto download, gcs::OpenDownload(bucket_, root_ + key, key));
  return std::unique_ptr<Download>(std::move(download));
}

Result<std::unique_ptr<ObjectReader>> GcsStore::OpenReader(const ObjectInfo& info) {
  STOKER_TRY(CheckKey(info.key));
  return gcs::OpenReader(bucket_, root_ + info.key, info);
}

Result<ObjectInfo> GcsStore::PutFrom(const std::string& key, ObjectReader& from,
                                     const Condition& condition) {
  STOKER_TRY(CheckKey(key));
  STOKER_ASSIGN(Version version, gcs::PutFrom(bucket_, root_ + key, from, condition));
  return ObjectInfo{key, from.info().size, std::move(version), {}};
}

Result<bool> GcsStore::PartsPay() {
  const std::lock_guard lock(parts_mutex_);
  if (!parts_pay_) {
    STOKER_ASSIGN(parts_pay_, gcs::PartsPay(bucket_, root_));
  }
  return *parts_pay_;
}

Result<std::unique_ptr<PartsUpload>> GcsStore::BeginParts(const std::string& key, int64_t size,
                                                          const Condition& condition,
                                                          const std::string& resume,
                                                          bool executable) {
  STOKER_TRY(CheckKey(key));
  bool pays = gcs::HasPlaceForParts(root_);
  if (pays) {
    STOKER_ASSIGN(pays, PartsPay());
  }
  // Through a resumable session, one chunk behind the other.
  if (!pays) return ObjectStore::BeginParts(key, size, condition, resume);
  return gcs::BeginParts(bucket_, root_, root_ + key, {key, size, "", {}, executable}, condition,
                         options_.part_bytes, resume);
}

std::vector<OddKey> GcsStore::DeleteAll(const std::vector<std::string>& keys) {
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
  for (OddKey& each : gcs::DeleteAll(bucket_, whole)) {
    failed.push_back({each.key.substr(root_.size()), std::move(each.why)});
  }
  return failed;
}

// Resumable sessions go by themselves; parts are objects, and paid for.
Result<int> GcsStore::SweepUnfinished(Duration age, const Sweep& sweep) {
  return gcs::SweepParts(bucket_, root_, age, sweep.dry_run);
}

}  // namespace stoker

// SPDX-License-Identifier: Apache-2.0
#include "store/gcs/gcs_parts.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>

#include "base/crc32c.h"
#include "base/json.h"
#include "base/text.h"
#include "net/http_date.h"
#include "net/percent.h"
#include "store/bytes/transfer_buffer.h"
#include "store/gcs/gcs_compose.h"
#include "store/gcs/gcs_insert.h"
#include "sys/file.h"
#include "sys/thread_crew.h"

namespace stoker::gcs {
namespace {

// What is kept in memory of each is small; the service has no limit.
constexpr int64_t kMostParts = 10'000;
constexpr size_t kMostName = 1024;  // "Object naming requirements"
constexpr size_t kLongestEnd = 64;  // of what stands behind the root
constexpr int kDeleters = 16;
constexpr size_t kNonce = 16;  // hexadecimal digits

bool IsNonce(const std::string& text) {
  return text.size() == kNonce && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

// Everything of one upload; the key's checksum keeps an id from being used for another key.
std::string FolderOf(const std::string& root, const std::string& key, const std::string& nonce) {
  return kPartsFolder + root + nonce + "-" + std::to_string(Crc32c(key)) + "/";
}

struct Found {
  std::vector<Resource> objects;
  WallTime now;  // by the service's clock
};

Result<Found> FindBelow(const Bucket& bucket, const std::string& prefix) {
  Found found;
  std::string token;
  do {
    std::string query =
        "fields=items(name,size,generation,timeCreated,crc32c),nextPageToken&prefix=" +
        PercentEncode(prefix);
    if (!token.empty()) query += "&pageToken=" + PercentEncode(token);
    const Request request = OnList(bucket.name, query);
    STOKER_ASSIGN(const HttpResponse answer, bucket.carrier.Call(request));
    STOKER_ASSIGN(Page page, ParsePage(bucket.carrier.Describe(request), answer.body, ""));
    found.now = DateOf(answer.headers, bucket.carrier.ServiceNow());
    for (size_t i = 0; i < page.listing.objects.size(); ++i) {
      found.objects.push_back({std::move(page.listing.objects[i]), std::move(page.checksums[i])});
    }
    token = page.page_token;
  } while (!token.empty());
  return found;
}

Status FirstOf(const std::vector<OddKey>& failed) {
  return failed.empty() ? Status::Ok() : failed.front().why;
}

Status DeleteBelow(const Bucket& bucket, const std::string& prefix) {
  STOKER_ASSIGN(const Found found, FindBelow(bucket, prefix));
  std::vector<std::string> keys;
  for (const Resource& object : found.objects) keys.push_back(object.info.key);
  return FirstOf(DeleteAll(bucket, keys));
}

// Parts by their number, as far as their names and sizes are those of this upload.
class Parts : public PartsUpload {
 public:
  Parts(Bucket bucket, std::string key, ObjectInfo info, Condition condition, int64_t part,
        std::string nonce, std::string folder)
      : bucket_(std::move(bucket)),
        key_(std::move(key)),
        info_(std::move(info)),
        condition_(std::move(condition)),
        part_(part),
        id_(std::to_string(part) + ":" + nonce),
        folder_(std::move(folder)),
        parts_(static_cast<size_t>((info_.size + part - 1) / part)) {}

  // What an earlier one has left.
  void Keep(const Resource& object) {
    const std::string number = object.info.key.substr(folder_.size());
    const auto crc = ParseCrc32cText(object.crc32c);
    const auto part = WholeNumber(number, 0, static_cast<int64_t>(parts_.size()) - 1);
    if (!part || !crc || object.info.size != SizeOf(static_cast<int>(*part))) return;
    const int n = static_cast<int>(*part);
    parts_[static_cast<size_t>(n)] = {object.info.key, object.info.version, object.info.size, *crc};
    done_[n] = {object.info.size, crc};
  }

  const std::string& id() const override { return id_; }
  int64_t part_size() const override { return part_; }
  const std::map<int, PartSum>& done() const override { return done_; }
  bool parallel() const override { return true; }
  // Twice, as a request holds its body while it is sent.
  int64_t memory(const ObjectReader& from) const override {
    return from.fd() >= 0 ? kTransferBuffer : 2 * part_ + kTransferBuffer;
  }

  Result<PartSum> WritePart(int n, ObjectReader& from) override {
    if (n < 0 || n >= static_cast<int>(parts_.size())) {
      return Status(Code::kInternal, "part " + std::to_string(n) + " of " + key_);
    }
    STOKER_ASSIGN(Message message, MessageOf(from, n * part_, SizeOf(n)));
    const uint32_t crc = message.crc;
    const std::string name = folder_ + std::to_string(n);
    STOKER_ASSIGN(const Resource made, Insert(bucket_, name, std::move(message), {}));
    const std::lock_guard lock(mutex_);
    parts_[static_cast<size_t>(n)] = {name, made.info.version, SizeOf(n), crc};
    return PartSum{SizeOf(n), crc};
  }

  Result<ObjectInfo> Commit() override {
    for (size_t i = 0; i < parts_.size(); ++i) {
      if (!parts_[i].name.empty()) continue;
      return Status(Code::kInternal, key_ + ": part " + std::to_string(i) + " is missing");
    }
    STOKER_TRY(Look());
    STOKER_ASSIGN(info_.version,
                  ComposeAll(bucket_, key_, parts_, folder_, condition_, info_.executable));
    // The object does not need them. What cannot be deleted now, a sweep deletes.
    (void)DeleteBelow(bucket_, folder_);
    return info_;
  }

  void Abort() override { (void)DeleteBelow(bucket_, folder_); }

 private:
  int64_t SizeOf(int n) const { return std::min(part_, info_.size - n * part_); }

  // Nothing is composed for a condition that does not hold any more. Who comes in between, the
  // composition's own condition refuses.
  Status Look() const {
    if (condition_.kind == Condition::Kind::kNone) return Status::Ok();
    const Request look = OnObject(bucket_.name, "GET", key_, "fields=generation");
    const auto there = bucket_.carrier.Call(look);
    const std::string what = bucket_.carrier.Describe(look);
    if (there.status().Is(Code::kNotFound)) {
      const bool absent = condition_.kind == Condition::Kind::kAbsent;
      return absent ? Status::Ok() : there.status();
    }
    if (!there.ok()) return there.status();
    if (condition_.kind == Condition::Kind::kAbsent) {
      return Status(Code::kExists, what + ": it is there already");
    }
    const auto json = nlohmann::json::parse(there->body, nullptr, /*allow_exceptions=*/false);
    const auto generation = json.is_object() ? json.value("generation", nlohmann::json()) : json;
    if (generation == nlohmann::json(condition_.version)) return Status::Ok();
    return Status(Code::kConflict, what + ": has changed");
  }

  const Bucket bucket_;
  const std::string key_;
  ObjectInfo info_;
  const Condition condition_;
  const int64_t part_;
  const std::string id_;
  const std::string folder_;
  std::map<int, PartSum> done_;
  std::mutex mutex_;
  std::vector<Piece> parts_;  // without name: not there yet
};

}  // namespace

bool HasPlaceForParts(const std::string& root) {
  return sizeof kPartsFolder - 1 + root.size() + kLongestEnd <= kMostName;
}

Result<bool> PartsPay(const Bucket& bucket, const std::string& root) {
  const std::string name = kPartsFolder + root + Hex64(sys::RandomU64()) + "-0/look";
  const auto made = Insert(bucket, name, MessageOf(""), {});
  if (made.status().Is(Code::kDenied)) return false;  // who has rights below the prefix alone
  if (!made.ok()) return made.status();
  (void)DeleteAll(bucket, {name});
  return made->standard && !made->held;
}

Result<std::unique_ptr<PartsUpload>> BeginParts(const Bucket& bucket, const std::string& root,
                                                const std::string& key, ObjectInfo info,
                                                const Condition& condition, int64_t part_bytes,
                                                const std::string& resume) {
  const int64_t part = std::max(part_bytes, (info.size + kMostParts - 1) / kMostParts);
  const std::string of_size = std::to_string(part) + ":";
  std::string nonce = StartsWith(resume, of_size) ? resume.substr(of_size.size()) : "";
  Found found;
  if (IsNonce(nonce)) {
    STOKER_ASSIGN(found, FindBelow(bucket, FolderOf(root, key, nonce)));
  }
  // Ended, aborted or swept meanwhile; or nothing that was ever given: begun anew.
  if (found.objects.empty()) nonce = Hex64(sys::RandomU64());
  auto upload = std::make_unique<Parts>(bucket, key, std::move(info), condition, part, nonce,
                                        FolderOf(root, key, nonce));
  for (const Resource& object : found.objects) upload->Keep(object);
  return std::unique_ptr<PartsUpload>(std::move(upload));
}

Result<int> SweepParts(const Bucket& bucket, const std::string& root, Duration age, bool dry_run) {
  const std::string below = kPartsFolder + root;
  STOKER_ASSIGN(const Found found, FindBelow(bucket, below));
  struct Stale {
    std::vector<std::string> keys;
    WallTime begun;
  };
  std::map<std::string, Stale> uploads;  // by folder
  for (const Resource& object : found.objects) {
    Stale& upload = uploads[object.info.key.substr(0, object.info.key.rfind('/'))];
    const WallTime written = object.info.last_modified;
    upload.begun = upload.keys.empty() ? written : std::min(upload.begun, written);
    upload.keys.push_back(object.info.key);
  }
  int swept = 0;
  for (const auto& [folder, upload] : uploads) {
    if (found.now - upload.begun < age) continue;
    if (!dry_run) STOKER_TRY(FirstOf(DeleteAll(bucket, upload.keys)));
    ++swept;
  }
  return swept;
}

std::vector<OddKey> DeleteAll(const Bucket& bucket, const std::vector<std::string>& keys) {
  std::atomic<size_t> next = 0;
  std::mutex mutex;
  Status away;
  std::vector<OddKey> failed;
  const auto work = [&](int) {
    for (size_t i = next++; i < keys.size(); i = next++) {
      Status status;
      {
        const std::lock_guard lock(mutex);
        status = away;
      }
      if (status.ok())
        status = bucket.carrier.Call(OnObject(bucket.name, "DELETE", keys[i])).status();
      if (status.ok() || status.Is(Code::kNotFound)) continue;
      const std::lock_guard lock(mutex);
      if (status.transient()) away = status;
      failed.push_back({keys[i], std::move(status)});
    }
  };
  const auto hands = static_cast<int>(std::min<size_t>(keys.size(), kDeleters));
  if (hands > 0) ThreadCrew().Work(hands, work);
  return failed;
}

}  // namespace stoker::gcs

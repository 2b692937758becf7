// SPDX-License-Identifier: Apache-2.0
// One process's requests: their way there, their moment, their way back. Every draw is a statement
// of its own: the order of draws is the order of the text, with every compiler.
#include <algorithm>
#include <utility>

#include "base/text.h"
#include "sim/bucket/bucket.h"

namespace stoker::sim {
namespace {

constexpr size_t kLongestKey = 900;

}  // namespace

BucketClient::BucketClient(Bucket& bucket, Scheduler& scheduler, Prng& prng, std::string process,
                           Link* link)
    : bucket_(bucket),
      scheduler_(scheduler),
      prng_(prng),
      process_(std::move(process)),
      link_(link) {}

const StoreTraits& BucketClient::traits() const { return bucket_.traits; }

Status BucketClient::CheckKey(const std::string& key) {
  if (IsSafeRelativePath(key) && key.size() <= kLongestKey) return Status::Ok();
  return Status(Code::kInvalid, "'" + Printable(key) + "' is not a key");
}

Status BucketClient::Missing(const std::string& key) {
  return Status(Code::kNotFound, "sim:" + key + ": no such object");
}

Status BucketClient::Lost() { return Status(Code::kUnavailable, "sim: connection lost"); }

bool BucketClient::Cut() const {
  const int64_t now = scheduler_.now();
  return now < bucket_.away_until || (link_ != nullptr && now < link_->cut_until);
}

bool BucketClient::Dead() const {
  return scheduler_.current() != nullptr && scheduler_.current()->dead();
}

void BucketClient::Count(int64_t BucketCounts::*what, int64_t by) {
  counts_.*what += by;
  bucket_.counts_.*what += by;
}

BucketClient::Fault BucketClient::Draw(Kind kind) {
  const BucketFaults& faults = bucket_.faults;
  const bool writes = kind == Kind::kPut || kind == Kind::kDelete;
  const bool carries = kind == Kind::kPut || kind == Kind::kGet;
  Prng& prng = bucket_.prng_;
  if (Cut()) return prng.Chance(1, 2) ? Fault::kRefused : Fault::kUnheard;
  auto roll = static_cast<int>(prng.Below(1000));
  const auto hits = [&roll](int rate) {
    roll -= rate;
    return roll < 0;
  };
  if (hits(faults.before)) return Fault::kRefused;
  if (hits(faults.after)) return Fault::kUnanswered;
  if (hits(faults.throttled)) return Fault::kThrottled;
  if (hits(faults.denied)) return Fault::kDenied;
  if (writes && hits(faults.late)) return Fault::kLate;
  if (carries && hits(faults.torn)) {
    return kind == Kind::kPut && prng.Chance(1, 4) ? Fault::kTornLate : Fault::kTorn;
  }
  return Fault::kNone;
}

Result<BucketClient::Trip> BucketClient::Send(Kind kind, int64_t bytes) {
  if (Dead()) return Status(Code::kUnavailable, "sim: the process is dead");
  static constexpr int64_t BucketCounts::*kCounters[] = {
      &BucketCounts::puts, &BucketCounts::deletes, &BucketCounts::gets, &BucketCounts::heads,
      &BucketCounts::lists};
  Count(kCounters[static_cast<int>(kind)], 1);
  Count(&BucketCounts::bytes_up, bytes);
  Trip trip;
  trip.real = scheduler_.current() != nullptr;
  if (!trip.real) return trip;
  trip.fault = Draw(kind);
  int64_t both = prng_.Between(bucket_.latency_low, bucket_.latency_high);
  if (bucket_.faults.slow > 0) {
    const bool slow = prng_.Chance(static_cast<uint64_t>(bucket_.faults.slow), 1000);
    if (slow) both += prng_.Between(0, bucket_.faults.slow_ms);
  }
  trip.back = both / 2;
  scheduler_.Sleep(both - trip.back + bytes / bucket_.bytes_per_ms);
  // Lost on the way.
  if (Cut() && trip.fault != Fault::kRefused) trip.fault = Fault::kUnheard;
  return trip;
}

Status BucketClient::Silence(Trip trip) {
  const int64_t wait = prng_.Between(trip.back, std::max(trip.back, bucket_.timeout_ms));
  scheduler_.Sleep(wait);
  return Status(Code::kTimeout, "sim: no answer");
}

Status BucketClient::Return(const Trip& trip, int64_t bytes) {
  if (!trip.real) {
    Count(&BucketCounts::bytes_down, bytes);
    return Status::Ok();
  }
  if (trip.fault == Fault::kUnheard || trip.fault == Fault::kUnanswered) return Silence(trip);
  scheduler_.Sleep(trip.back + bytes / bucket_.bytes_per_ms);
  switch (trip.fault) {
    case Fault::kRefused:
      return Status(Code::kUnavailable, "sim: 503 Service Unavailable");
    case Fault::kThrottled:
      return Status(Code::kBusy, "sim: 503 Slow Down");
    case Fault::kDenied:
      return Status(Code::kDenied, "sim: 403 Forbidden");
    case Fault::kTorn:
    case Fault::kTornLate:
      return Lost();
    default:
      break;
  }
  if (Cut()) return Silence(trip);
  Count(&BucketCounts::bytes_down, bytes);
  return Status::Ok();
}

void BucketClient::Carry(int64_t bytes, int64_t* unpaid) {
  *unpaid += bytes;
  const int64_t ms = *unpaid / bucket_.bytes_per_ms;
  *unpaid -= ms * bucket_.bytes_per_ms;
  if (ms > 0) scheduler_.Sleep(ms);
}

Result<Version> BucketClient::Change(Kind kind, int64_t bytes, Effect effect) {
  STOKER_ASSIGN(const Trip trip, Send(kind, bytes));
  if (trip.fault == Fault::kLate) {
    const int64_t wait = prng_.Between(trip.back, std::max(trip.back, bucket_.timeout_ms));
    const int64_t later = prng_.Between(1, std::max<int64_t>(1, bucket_.faults.late_ms));
    scheduler_.In(wait + later, [effect = std::move(effect)] { (void)effect(); });
    scheduler_.Sleep(wait);
    return Status(Code::kTimeout, "sim: no answer");
  }
  Result<Version> result = trip.arrives() ? effect() : Result<Version>(Version());
  STOKER_TRY(Return(trip, 0));
  return result;
}

Result<Version> BucketClient::Write(const std::string& key, std::shared_ptr<const std::string> data,
                                    const Condition& condition, int64_t bytes) {
  return Change(Kind::kPut, bytes,
                [&bucket = bucket_, key, data = std::move(data), condition,
                 writer = process_]() -> Result<Version> {
                  STOKER_TRY(bucket.Refused(key, true));
                  return bucket.Store(key, data, condition, writer);
                });
}

Result<Version> BucketClient::Put(const std::string& key, std::string_view data,
                                  const Condition& condition) {
  STOKER_TRY(CheckKey(key));
  const auto bytes = static_cast<int64_t>(data.size());
  return Write(key, std::make_shared<const std::string>(data), condition, bytes);
}

Status BucketClient::Delete(const std::string& key) {
  STOKER_TRY(CheckKey(key));
  return Change(Kind::kDelete, 0,
                [&bucket = bucket_, key, writer = process_]() -> Result<Version> {
                  STOKER_TRY(bucket.Refused(key, true));
                  return bucket.Erase(key, writer);
                })
      .status();
}

Result<Object> BucketClient::Get(const std::string& key) {
  STOKER_TRY(CheckKey(key));
  STOKER_ASSIGN(const Trip trip, Send(Kind::kGet, 0));
  const Bucket::Entry* const entry = trip.arrives() ? bucket_.Find(key) : nullptr;
  Object object;
  std::shared_ptr<const std::string> data;
  if (entry != nullptr) {
    object.info = entry->info;
    data = entry->data;
  }
  object.store_now = bucket_.Now();
  STOKER_TRY(Return(trip, object.info.size));
  STOKER_TRY(bucket_.Refused(key, false));
  if (data == nullptr) return Missing(key);
  object.data = *data;
  return object;
}

Result<ObjectInfo> BucketClient::Head(const std::string& key) {
  STOKER_TRY(CheckKey(key));
  STOKER_ASSIGN(const Trip trip, Send(Kind::kHead, 0));
  const Bucket::Entry* const entry = trip.arrives() ? bucket_.Find(key) : nullptr;
  const bool there = entry != nullptr;
  ObjectInfo info;
  if (there) info = entry->info;
  STOKER_TRY(Return(trip, 0));
  if (!there) return Missing(key);
  return info;
}

Result<Listing> BucketClient::List(const std::string& prefix, const std::string& after, int limit) {
  STOKER_ASSIGN(const Trip trip, Send(Kind::kList, 0));
  Listing listing;
  listing.store_now = bucket_.Now();
  const auto most = static_cast<size_t>(std::clamp(limit, 1, bucket_.page));
  const auto& objects = bucket_.objects();
  auto at =
      after >= prefix && !after.empty() ? objects.upper_bound(after) : objects.lower_bound(prefix);
  for (; trip.arrives() && at != objects.end() && StartsWith(at->first, prefix); ++at) {
    if (listing.objects.size() >= most) {
      listing.next = listing.objects.back().key;
      break;
    }
    listing.objects.push_back(at->second.info);
  }
  STOKER_TRY(Return(trip, 0));
  return listing;
}

}  // namespace stoker::sim

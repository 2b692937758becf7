// SPDX-License-Identifier: Apache-2.0
// The service: what is in the bucket, and what a write does to it.
#include "sim/bucket/bucket.h"

#include <utility>

namespace stoker::sim {

Bucket::Bucket(Scheduler& scheduler, Prng& prng) : scheduler_(scheduler), prng_(prng) {}

const Bucket::Entry* Bucket::Find(const std::string& key) const {
  const auto found = objects_.find(key);
  return found == objects_.end() ? nullptr : &found->second;
}

void Bucket::Plant(const std::string& key, std::shared_ptr<const std::string> data,
                   int64_t age_ms) {
  if (data == nullptr) {
    (void)Erase(key, "");
    return;
  }
  (void)Store(key, std::move(data), Condition::None(), "");
  const auto planted = objects_.find(key);
  if (planted != objects_.end()) planted->second.info.last_modified.ms -= age_ms;
}

Status Bucket::Refused(const std::string& key, bool writes) const {
  for (const Refusal& no : refusals) {
    if (no.writes != writes || scheduler_.now() >= no.until) continue;
    if (key.find(no.part) == std::string::npos) continue;
    return Status(no.code, "sim: " + no.part + " is refused");
  }
  return Status::Ok();
}

Result<Version> Bucket::Store(const std::string& key, std::shared_ptr<const std::string> data,
                              const Condition& condition, const std::string& writer) {
  const auto found = objects_.find(key);
  const bool there = found != objects_.end();
  if (condition.kind == Condition::Kind::kAbsent && there) {
    return Status(Code::kExists, "sim:" + key + ": exists already");
  }
  if (condition.kind == Condition::Kind::kMatch) {
    if (!there) return Status(Code::kNotFound, "sim:" + key + ": no such object");
    if (found->second.info.version != condition.version) {
      return Status(Code::kConflict, "sim:" + key + ": has changed");
    }
  }
  Entry& entry = there ? found->second : objects_[key];
  std::shared_ptr<const std::string> before = std::exchange(entry.data, std::move(data));
  if (!there) entry.info.key = key;
  entry.info.size = static_cast<int64_t>(entry.data->size());
  entry.info.version = std::to_string(++writes_);
  entry.info.last_modified = Now();
  const Version version = entry.info.version;
  Tell(key, std::move(before), entry.data, writer);
  return version;
}

Result<Version> Bucket::Erase(const std::string& key, const std::string& writer) {
  const auto found = objects_.find(key);
  if (found == objects_.end()) return Version();
  const std::shared_ptr<const std::string> before = std::move(found->second.data);
  objects_.erase(found);
  Tell(key, before, nullptr, writer);
  return Version();
}

void Bucket::Tell(const std::string& key, std::shared_ptr<const std::string> before,
                  std::shared_ptr<const std::string> after, const std::string& writer) {
  if (changed) changed({key, std::move(before), std::move(after), writer});
}

}  // namespace stoker::sim

// SPDX-License-Identifier: Apache-2.0
#include "ledger/notified.h"

#include "base/json_fields.h"
#include "base/text.h"
#include "ledger/paths.h"

namespace stoker {
namespace {

constexpr size_t kMostBytes = size_t{64} << 10;
constexpr size_t kTryBytes = sizeof "0001.json" - 1;

std::string PrefixOf(const std::string& job, const std::string& key, int entry) {
  return paths::Notified(job) + key + "." + std::to_string(entry) + ".";
}

// Sorted as the tries are.
std::string KeyOf(const std::string& job, const Notified& told) {
  const std::string number = std::to_string(told.tries);
  return PrefixOf(job, told.key, told.entry) +
         std::string(number.size() < 4 ? 4 - number.size() : 0, '0') + number + ".json";
}

// What cannot be read is left to who can: it is over for this stoker.
Notified Foreign(const std::string& why) {
  Notified told;
  told.state = "given_up";
  told.why = why;
  return told;
}

}  // namespace

template <class A, class T>
requires std::is_same_v<std::remove_const_t<T>, Notified>
void Fields(A& a, T& t) {
  a.Need("format", t.format);
  a.Need("event", t.key);
  a.Need("entry", t.entry);
  a.Need("state", t.state);
  a.Need("first", t.first);
  a.Need("at", t.at);
  a("next", t.next);
  a.Need("tries", t.tries);
  a("why", t.why);
  a("text", t.text);
}

namespace {

Notified Parse(const std::string& key, const std::string& data) {
  const auto parsed = json::ParseObject(key, data, kMostBytes);
  if (!parsed.ok()) return Foreign(parsed.status().message());
  const Status format = json::CheckFormat(key, *parsed, kNotifiedFormat);
  if (!format.ok()) return Foreign(format.message());
  Notified told;
  json::JsonIn in(*parsed, key + ": ");
  Fields(in, told);
  return in.status().ok() ? told : Foreign(in.status().message());
}

std::string Text(const Notified& told) {
  json::JsonOut out;
  Fields(out, told);
  return json::Dump(out.Take()) + "\n";
}

}  // namespace

Result<std::vector<Notified>> ListNotified(Ledger& ledger, const std::string& job) {
  STOKER_ASSIGN(const auto keys, ledger.store().ListKeys(paths::Notified(job)));
  std::vector<Notified> all;
  for (size_t at = 0; at < keys.size(); ++at) {
    const std::string_view key = keys[at];
    const std::string_view event = key.substr(0, key.size() - kTryBytes);
    const bool newest = at + 1 == keys.size() || !StartsWith(keys[at + 1], event) ||
                        keys[at + 1].size() != key.size();
    if (!newest) continue;
    const auto object = ledger.store().Get(keys[at]);
    if (object.status().Is(Code::kNotFound)) continue;
    if (!object.ok()) return object.status().WithContext("reading " + keys[at]);
    all.push_back(Parse(keys[at], object->data));
  }
  return all;
}

Result<Notified> ReadNotified(Ledger& ledger, const std::string& job, const std::string& key,
                              int entry) {
  STOKER_ASSIGN(const auto keys, ledger.store().ListKeys(PrefixOf(job, key, entry)));
  if (keys.empty()) return Status(Code::kNotFound, "nobody has told " + key);
  STOKER_ASSIGN(const Object object, ledger.store().Get(keys.back()));
  return Parse(keys.back(), object.data);
}

Status BeginNotified(Ledger& ledger, const std::string& job, const Notified& told) {
  return ledger.store().Put(KeyOf(job, told), Text(told), Condition::Absent()).status();
}

Status WriteNotified(Ledger& ledger, const std::string& job, const Notified& told) {
  return ledger.store().Put(KeyOf(job, told), Text(told)).status();
}

}  // namespace stoker

// SPDX-License-Identifier: Apache-2.0
#include "controller/away/away_note.h"

#include <algorithm>
#include <set>

#include "base/json_fields.h"
#include "base/text.h"
#include "ledger/paths.h"

namespace stoker {

constexpr size_t kMostAwayBytes = size_t{1} << 20;

template <class A, class T>
requires std::is_same_v<std::remove_const_t<T>, AwayAsked>
void Fields(A& a, T& t) {
  a.Need("token", t.what);
  a.Need("machines", t.machines);
  a.Need("at", t.at);
  a.Check(t.machines > 0 && t.machines <= 100'000, "machines", "is out of range");
}

template <class A, class T>
requires std::is_same_v<std::remove_const_t<T>, AwayNote>
void Fields(A& a, T& t) {
  a.Need("format", t.format);
  a("installed", t.installed);
  a("where", t.where);
  a("bound", t.bound);
  a("version", t.version);
  a("turn", t.turn);
  a("turn_until", t.turn_until);
  a("looked", t.looked);
  a("swept", t.swept);
  a("did", t.did);
  a("after", t.after);
  a("cut_off", t.cut_off);
  a("asked", t.asked);
}

Result<AwayRead> ReadAway(Ledger& ledger, const std::string& provider) {
  const std::string key = paths::Away(provider);
  AwayRead read;
  const auto object = ledger.store().Get(key);
  if (object.status().Is(Code::kNotFound)) {
    // The store's clock comes with an answer: that of the ledger's own object does.
    STOKER_ASSIGN(const Object ledger_itself, ledger.store().Get(paths::LedgerId()));
    read.store_now = ledger_itself.store_now;
    return read;
  }
  if (!object.ok()) return object.status().WithContext("reading " + key);
  STOKER_ASSIGN(const json::Value parsed, json::ParseObject(key, object->data, kMostAwayBytes));
  STOKER_TRY(json::CheckFormat(key, parsed, kAwayFormat));
  json::JsonIn in(parsed, key + ": ");
  Fields(in, read.note);
  in.Extra(read.note.extra);
  STOKER_TRY(in.status());
  read.version = object->info.version;
  read.store_now = object->store_now;
  return read;
}

Result<AwayRead> WriteAway(Ledger& ledger, const std::string& provider, const AwayRead& read) {
  const std::string key = paths::Away(provider);
  json::JsonOut out;
  Fields(out, read.note);
  out.Extra(read.note.extra);
  const Condition condition = read.version ? Condition::Match(*read.version) : Condition::Absent();
  auto version = ledger.store().Put(key, json::Dump(out.Take()) + "\n", condition);
  const Status& status = version.status();
  if (status.Is(Code::kExists) || status.Is(Code::kNotFound) || status.Is(Code::kConflict)) {
    return Status(Code::kConflict, key + " was changed by somebody else");
  }
  if (!version.ok()) return status.WithContext("writing " + key);
  AwayRead written = read;
  written.version = *version;
  return written;
}

bool IsSamePlace(const std::string& noted, const std::string& place) {
  return noted == place || EndsWith(noted, "." + place) || EndsWith(place, "." + noted);
}

AwayWhere WhereToTake(const std::string& named, const std::vector<std::string>& noted,
                      const AwayNote& note) {
  if (!named.empty()) {
    if (note.where.empty()) return {{named}, true};
    const bool same = IsSamePlace(note.where, named);
    return {{same ? note.where : named}, same};
  }
  std::set<std::string> all(noted.begin(), noted.end());
  if (!note.where.empty()) all.insert(note.where);
  return {{all.begin(), all.end()}, true};
}

Status RemoveAway(Ledger& ledger, const std::string& provider) {
  return ledger.store().Delete(paths::Away(provider));
}

Result<std::vector<std::string>> AwayProviders(Ledger& ledger) {
  STOKER_ASSIGN(const auto keys, ledger.store().ListKeys(paths::Aways()));
  std::vector<std::string> names;
  for (const std::string& key : keys) {
    const std::string name = key.substr(paths::Aways().size());
    if (EndsWith(name, ".json") && IsSafeName(name.substr(0, name.size() - 5))) {
      names.push_back(name.substr(0, name.size() - 5));
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace stoker

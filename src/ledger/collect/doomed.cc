// SPDX-License-Identifier: Apache-2.0
#include "ledger/collect/doomed.h"

#include <algorithm>
#include <utility>

#include "base/json_fields.h"
#include "base/text.h"
#include "ledger/paths.h"
#include "ledger/scan.h"
#include "ledger/segments/read_again.h"

namespace stoker {

// A list as it is stored. Found by argument-dependent lookup, see base/json_fields.h.
struct StoredDoomed {
  int format = 1;
  std::optional<WallTime> at;  // missing: it is as it was first written, when it was last modified
  DoomedList list;
};

template <class A, class T>
requires std::is_same_v<std::remove_const_t<T>, StoredDoomed>
void Fields(A& a, T& t) {
  a.Need("format", t.format);
  a("at", t.at);
  a("by", t.list.by);
  a("removing", t.list.removing);
  a("jobs", t.list.jobs);
  a("blobs", t.list.blobs);
  a.Check(std::all_of(t.list.jobs.begin(), t.list.jobs.end(),
                      [](const std::string& id) { return IsSafeName(id); }),
          "jobs", "are not ids");
  a.Extra(t.list.extra);
}

namespace {

constexpr int kDoomedFormat = 1;
constexpr size_t kMostBytes = size_t{8} << 20;
constexpr size_t kMostNames = 10'000;  // on one list, of jobs and of blobs
constexpr int kMostConflicts = 200;

Result<DoomedList> Decode(const Object& object) {
  const std::string& key = object.info.key;
  STOKER_ASSIGN(const json::Value value, json::ParseObject(key, object.data, kMostBytes));
  STOKER_TRY(json::CheckFormat(key, value, kDoomedFormat));
  StoredDoomed stored;
  json::JsonIn in(value, key + ": ");
  Fields(in, stored);
  STOKER_TRY(in.status());
  stored.list.key = key;
  stored.list.version = object.info.version;
  stored.list.at = stored.at.value_or(object.info.last_modified);
  return std::move(stored.list);
}

std::string Encode(const DoomedList& list, bool first) {
  StoredDoomed stored;
  stored.list = list;
  if (!first) stored.at = list.at;
  json::JsonOut out;
  Fields(out, stored);
  return json::Dump(out.Take()) + "\n";
}

Result<DoomedList> Read(Ledger& ledger, const std::string& key) {
  return GetJudged(ledger.store(), key, Decode);
}

bool IsUnreadable(const Status& status) { return MayBeMomentary(status); }

// "2026-11-21T15:04:05.123Z" -> "20261121T150405".
std::string Compact(WallTime time) {
  std::string text;
  for (const char c : FormatRfc3339(time).substr(0, 19)) {
    if (c != '-' && c != ':') text += c;
  }
  return text;
}

std::vector<std::string> Piece(const std::vector<std::string>& all, size_t from) {
  const auto at = [&](size_t i) {
    return all.begin() + static_cast<ptrdiff_t>(std::min(i, all.size()));
  };
  return {at(from), at(from + kMostNames)};
}

}  // namespace

Result<DoomedRead> ReadDoomed(Ledger& ledger) {
  DoomedRead read;
  STOKER_ASSIGN(const std::vector<Listed> found,
                ListBelow(ledger.store(), paths::Doomed(), &read.now));
  for (const Listed& one : found) {
    auto list = Read(ledger, one.object.key);
    if (list.ok()) {
      read.lists.push_back(std::move(*list));
    } else if (IsUnreadable(list.status())) {
      read.unread.push_back({one.object.key, list.status()});
    } else if (!list.status().Is(Code::kNotFound)) {
      return list.status().WithContext("reading what is to be removed");
    }
  }
  return read;
}

std::map<std::string, WallTime> GoesAt(const DoomedRead& doomed) {
  std::map<std::string, WallTime> goes;
  for (const DoomedList& list : doomed.lists) {
    for (const std::string& id : list.jobs) {
      const auto [known, fresh] = goes.emplace(id, list.at + kDoomedFor);
      if (!fresh) known->second = std::min(known->second, list.at + kDoomedFor);
    }
  }
  return goes;
}

Result<std::vector<DoomedList>> Doom(Ledger& ledger, WallTime now, std::vector<std::string> jobs,
                                     std::vector<std::string> blobs, const std::string& by,
                                     bool removing) {
  std::vector<DoomedList> lists;
  for (size_t from = 0; from < std::max(jobs.size(), blobs.size()); from += kMostNames) {
    DoomedList list;
    list.key = paths::Doomed() + Compact(now) + "-" + ledger.Nonce() + ".json";
    list.at = now;
    list.by = by;
    list.jobs = Piece(jobs, from);
    list.blobs = Piece(blobs, from);
    list.removing = removing;
    STOKER_ASSIGN(list.version, ledger.store().Put(list.key, Encode(list, true)));
    lists.push_back(std::move(list));
  }
  return lists;
}

Result<std::optional<DoomedList>> ChangeDoomed(Ledger& ledger, const std::string& key,
                                               const std::function<bool(DoomedList&)>& edit) {
  for (int tries = 0; tries < kMostConflicts; ++tries) {
    auto list = Read(ledger, key);
    if (list.status().Is(Code::kNotFound) || IsUnreadable(list.status())) {
      return std::optional<DoomedList>();
    }
    if (!list.ok()) return list.status();
    if (!edit(*list)) return std::optional(std::move(*list));
    auto put = ledger.store().Put(key, Encode(*list, false), Condition::Match(list->version));
    if (put.ok()) {
      list->version = *put;
      return std::optional(std::move(*list));
    }
    // Also where it was our own write whose answer got lost: `edit` finds its work done.
    if (!put.status().Is(Code::kConflict) && !put.status().Is(Code::kNotFound)) {
      return put.status().WithContext("changing " + key);
    }
  }
  return Status(Code::kConflict, key + " was changed by others again and again");
}

Status DeleteDoomed(Ledger& ledger, const std::string& key) { return ledger.store().Delete(key); }

Result<Spared> Spare(Ledger& ledger, const std::set<std::string>& jobs) {
  Spared out;
  STOKER_ASSIGN(DoomedRead doomed, ReadDoomed(ledger));
  out.unread = std::move(doomed.unread);
  const auto ours = [&](const std::string& id) { return jobs.contains(id); };
  for (const DoomedList& one : doomed.lists) {
    if (std::none_of(one.jobs.begin(), one.jobs.end(), ours)) continue;
    std::set<std::string> taken;
    const auto change = [&](DoomedList& list) {
      if (list.removing) return false;
      for (const std::string& id : list.jobs) {
        if (ours(id)) taken.insert(id);
      }
      return std::erase_if(list.jobs, ours) > 0;
    };
    STOKER_ASSIGN(const auto now, ChangeDoomed(ledger, one.key, change));
    if (!now) continue;
    out.spared.insert(taken.begin(), taken.end());
    if (now->removing) {
      for (const std::string& id : now->jobs) {
        if (ours(id)) out.late.insert(id);
      }
    } else if (now->jobs.empty() && now->blobs.empty()) {
      STOKER_TRY(DeleteDoomed(ledger, now->key));
    }
  }
  for (const std::string& id : out.late) out.spared.erase(id);
  return out;
}

}  // namespace stoker

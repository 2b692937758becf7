// SPDX-License-Identifier: Apache-2.0
// The second step: what is doomed goes.
#include <algorithm>
#include <set>
#include <utility>

#include "base/text.h"
#include "ledger/blobs.h"
#include "ledger/collect/collect.h"
#include "ledger/collect/doomed.h"
#include "ledger/collect/take_away.h"
#include "ledger/index.h"
#include "ledger/paths.h"
#include "ledger/segments/labels.h"

namespace stoker {
namespace {

using Ids = std::set<std::string>;

Ids Digests(const Survey& survey) {
  Ids digests;
  for (const auto& [id, some] : survey.digests) digests.insert(some.begin(), some.end());
  return digests;
}

// The jobs of `lists` that may go, as far as nobody needs them; the others are kept in `needed`.
Ids Choose(const Survey& survey, const std::vector<DoomedList>& lists, Removed* out) {
  Ids going;
  for (const DoomedList& list : lists) {
    for (const std::string& id : list.jobs) {
      if (MayGo(survey, id)) going.insert(id);
    }
  }
  const auto needed = NeededOf(survey, going);
  for (const auto& [id, by] : needed) going.erase(id);
  out->needed.insert(needed.begin(), needed.end());
  return going;
}

// What stays is taken off, and the rest cannot be any more. False: nothing of it is left.
Result<bool> Mark(Ledger& ledger, const Ids& going, DoomedList* list) {
  const auto change = [&](DoomedList& now) {
    const size_t stay =
        std::erase_if(now.jobs, [&](const std::string& id) { return !going.contains(id); });
    const bool was = std::exchange(now.removing, true);
    return stay > 0 || !was;
  };
  STOKER_ASSIGN(auto marked, ChangeDoomed(ledger, list->key, change));
  if (!marked) return false;
  *list = std::move(*marked);
  return true;
}

// Removes the blobs of the list that no record names.
Status RemoveBlobs(Ledger& ledger, const DoomedList& list, const Survey& survey, bool dry_run,
                   Removed* out) {
  if (!survey.unreadable.empty()) return Status::Ok();
  const Ids named = Digests(survey);
  for (const std::string& key : list.blobs) {
    if (!StartsWith(key, paths::Blobs())) continue;
    const auto info = ledger.store().Head(key);
    if (info.status().Is(Code::kNotFound)) continue;
    if (!info.ok()) return info.status();
    const auto copy = ParseBlobCopy({*info, survey.now});
    if (!copy || copy->age < kBlobAge || named.contains(copy->sha256)) continue;
    if (!dry_run) STOKER_TRY(ledger.store().Delete(key));
    ++out->blobs;
    out->blob_bytes += copy->size;
  }
  return Status::Ok();
}

// `lists` are marked. What is needed by a record that was written before that stays.
Status RemoveMarked(Ledger& ledger, const CollectRequest& request,
                    const std::vector<DoomedList>& lists, Survey* survey, Removed* out) {
  STOKER_TRY(Recheck(ledger, request.progress, survey));
  const Ids going = Choose(*survey, lists, out);
  // A record that cannot be read has come up meanwhile: the lists stay until it is mended.
  if (!survey->blind.empty()) return Status::Ok();
  for (const std::string& id : going) {
    if (request.progress) request.progress("removing job " + id);
    STOKER_ASSIGN(const int64_t bytes, TakeAwayJob(ledger, id, false));
    out->job_bytes += bytes;
    out->jobs.push_back(id);
    survey->records.erase(id);
    survey->over.erase(id);
    survey->kin.erase(id);
    survey->digests.erase(id);
  }
  for (const DoomedList& list : lists) {
    STOKER_TRY(RemoveBlobs(ledger, list, *survey, false, out));
    STOKER_TRY(DeleteDoomed(ledger, list.key));
  }
  if (out->jobs.empty()) return Status::Ok();
  // Last, as these alone write: on a full disk all else has made room for them by now.
  out->index = DropLabels(Labelled(ledger), {out->jobs.begin(), out->jobs.end()}, ledger.Nonce());
  const Status index = RebuildIndex(ledger);
  if (out->index.ok()) out->index = index;
  return Status::Ok();
}

}  // namespace

Result<Removed> RemoveDue(Ledger& ledger, const CollectRequest& request, Survey* survey) {
  Removed out;
  STOKER_ASSIGN(DoomedRead doomed, ReadDoomed(ledger));
  out.unread = std::move(doomed.unread);
  std::vector<DoomedList> due = std::move(doomed.lists);
  std::erase_if(due, [&](const DoomedList& list) { return !IsDue(list, doomed.now); });
  if (due.empty()) return out;
  STOKER_TRY(Recheck(ledger, request.progress, survey));
  const Ids going = Choose(*survey, due, &out);
  // They stay doomed: once the record is mended, it is known what it needs.
  if (!survey->blind.empty()) return out;
  if (request.dry_run) {
    for (const std::string& id : going) {
      STOKER_ASSIGN(const int64_t bytes, TakeAwayJob(ledger, id, true));
      out.job_bytes += bytes;
      out.jobs.push_back(id);
    }
    for (const DoomedList& list : due) {
      STOKER_TRY(RemoveBlobs(ledger, list, *survey, true, &out));
    }
    return out;
  }
  std::vector<DoomedList> marked;
  for (DoomedList& list : due) {
    const auto any = Mark(ledger, going, &list);
    if (any.status().Is(Code::kNoSpace)) {
      // No record can be written either that would need them.
      std::erase_if(list.jobs, [&](const std::string& id) { return !going.contains(id); });
    } else if (!any.ok()) {
      return any.status();
    }
    if (any.value_or(true)) marked.push_back(std::move(list));
  }
  STOKER_TRY(RemoveMarked(ledger, request, marked, survey, &out));
  return out;
}

Result<Removed> RemoveNow(Ledger& ledger, const std::vector<std::string>& jobs,
                          const CollectRequest& request, Survey* survey) {
  Removed out;
  auto lists = Doom(ledger, survey->now, jobs, {}, request.by, true);
  if (lists.status().Is(Code::kNoSpace)) {
    // No record can be written either that would need them.
    DoomedList unwritten;
    unwritten.key = paths::Doomed() + ledger.Nonce() + ".json";
    unwritten.jobs = jobs;
    lists = std::vector<DoomedList>{std::move(unwritten)};
  }
  if (!lists.ok()) return lists.status();
  STOKER_TRY(RemoveMarked(ledger, request, *lists, survey, &out));
  return out;
}

}  // namespace stoker

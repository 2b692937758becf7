// SPDX-License-Identifier: Apache-2.0
#include "client/fetch/sync.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/digest.h"
#include "base/text.h"
#include "client/fetch/sync_guard.h"
#include "client/fetch/sync_side.h"
#include "client/open/meter.h"
#include "store/open_side.h"
#include "sys/file.h"
#include "sys/journal_file.h"
#include "sys/thread_crew.h"
#include "transfer/sync_memory.h"

namespace stoker::client {
namespace {

// An empty prefix is no error in a bucket: a name that was mistyped would remove all there is.
Status CheckNotEmpty(const SyncPlan& plan, const std::string& source, const std::string& target) {
  if (plan.remove.empty() || !plan.copy.empty() || plan.same + plan.newer > 0) return Status::Ok();
  return Status(Code::kNotFound,
                source + " has no file to copy, and --delete would remove " +
                    HumanFiles(static_cast<int64_t>(plan.remove.size())) + " from " + target,
                "Look at SRC; if it is meant to be empty, add --allow-empty");
}

// Says what of the filter is not as it was meant. kUsage: it takes nothing that there is.
Status CheckFilter(Client& client, const SyncFilter& filter, const TransferLists& lists,
                   const SyncWish& wish, const std::string& source) {
  if (wish.rules.empty()) return Status::Ok();
  std::vector<std::string> keys;
  for (const auto* side : {&lists.source, &lists.target}) {
    for (const ObjectInfo& object : side->objects) keys.push_back(object.key);
  }
  const std::vector<std::string> remarks = filter.Remarks(keys, {wish.source, source});
  const bool any = std::any_of(keys.begin(), keys.end(),
                               [&](const std::string& key) { return filter.Takes(key); });
  const bool included = std::any_of(wish.rules.begin(), wish.rules.end(),
                                    [](const FilterRule& rule) { return rule.include; });
  if (!any && !keys.empty() && included) {
    return Status(Code::kUsage, "the filters leave out everything: " + Join(remarks, "; "),
                  "A pattern is held against the whole path, and the last that matches counts: "
                  "--exclude '*' --include 'folder/*'");
  }
  for (const std::string& remark : remarks) client.Say(remark);
  return Status::Ok();
}

Result<TransferReport> Carry(Client& client, const TransferParts& parts, const SyncPlan& plan,
                             const TransferOptions& how) {
  if (!plan.copy.empty()) STOKER_TRY(parts.memory.BeginWriting(parts.target));
  if (!plan.copy.empty() && NamesBucket(parts.target.url())) {
    STOKER_TRY(parts.memory.NoteBucket(parts.target.url()));
  }
  TransferReport report = [&] {
    Meter meter(client, "copying", plan.copy_bytes);
    return RunTransfer(parts, plan, how, [&](const TransferProgress& now) { meter.At(now.bytes); });
  }();
  report.failed.insert(report.failed.end(), plan.refused.begin(), plan.refused.end());
  client.Progress("waiting for the disk");
  const Status settled =
      parts.memory.EndWriting(parts.target, report.failed.empty() && plan.left_out == 0 &&
                                                plan.newer == 0 && !plan.incomplete);
  client.Progress("");
  STOKER_TRY(settled);
  return report;
}

// kNotFound: what was left out is all that `listed` has.
Status CheckTaken(const SyncPlan& plan, const SideListing& listed, const std::string& source) {
  const bool taken = !plan.copy.empty() || plan.same + plan.newer + plan.left_out > 0;
  if (taken || listed.odd.empty() || !plan.refused.empty()) return Status::Ok();
  const auto count = static_cast<int64_t>(listed.odd.size());
  return Status(Code::kNotFound,
                "nothing of " + source + " can be copied: " + std::to_string(count) +
                    (count == 1 ? " entry was" : " entries were") + " left out",
                "Name the folder that the links lead to, or make them files with 'cp -rL' "
                "first");
}

// Both ends, before anything is listed.
struct Ends {
  SyncSide source;
  SyncSide target;
};

Result<Ends> OpenEnds(Client& client, const SyncWish& wish) {
  Ends ends;
  STOKER_ASSIGN(ends.source, OpenSource(client, wish.source));
  STOKER_ASSIGN(ends.target, OpenTarget(wish.target, ends.source.only));
  STOKER_TRY(CheckApart(ends.source, ends.target));
  if (wish.remove) {
    STOKER_TRY(CheckWholeSource(ends.source));
    STOKER_TRY(CheckWholePlaces(ends.target, wish.delete_in));
  }
  return ends;
}

Result<TransferLists> List(Client& client, const Ends& ends) {
  client.Progress("listing");
  auto lists = ListSides(*ends.source.side, *ends.target.side);
  client.Progress("");
  if (lists.ok() && ends.source.folder != nullptr && ends.target.folder != nullptr) {
    STOKER_TRY(ends.target.folder->KeepApart(*ends.source.folder));
  }
  return lists;
}

// What is to be done, once files that look the same were compared; refused where a guard says so.
Result<SyncPlan> Plan(Client& client, const SyncWish& wish, const SyncFilter& filter, Ends& ends,
                      const TransferLists& lists, const TransferParts& parts) {
  const std::string from = ends.source.side->url();
  PlanRules rules = RulesFor(*ends.source.side, *ends.target.side);
  rules.remove = wish.remove;
  rules.update = wish.update;
  if (parts.memory.in_doubt()) rules.doubt_up_to = ends.target.side->whole_bytes();
  rules.taken = [&](const std::string& key) { return filter.Takes(key); };
  STOKER_TRY(CheckFilter(client, filter, lists, wish, from));
  SyncPlan plan = PlanSync(lists.source, lists.target, parts.memory.known(), rules);
  if (!plan.unsure.empty()) client.Progress("comparing");
  SettleUnsure(parts, wish.how, !wish.dry_run, &plan);
  if (!wish.allow_empty) {
    STOKER_TRY(CheckNotEmpty(plan, from, ends.target.side->url()));
    STOKER_TRY(CheckFound(ends.source, lists.source));
  }
  STOKER_TRY(CheckLedgers(ends.target, lists.target, plan, wish.delete_in));
  return plan;
}

}  // namespace

Result<Synced> Sync(Client& client, const SyncWish& wish) {
  STOKER_ASSIGN(Ends ends, OpenEnds(client, wish));
  const std::string from = ends.source.side->url();
  const std::string to = ends.target.side->url();
  STOKER_ASSIGN(const SyncFilter filter, SyncFilter::Make(wish.rules));
  const auto journal =
      OpenJournalFile(client.places().state + "/sync/" + Sha256Hex(from + "\n" + to).substr(0, 32));
  SyncMemory memory(*journal, sys::BootId());
  // What is not remembered is compared by size and time.
  const Status loaded = memory.Load();
  if (!loaded.ok()) client.Say("what was copied before is not known: " + loaded.ToString());
  if (ends.target.folder != nullptr && !wish.dry_run) ends.target.folder->Recover();
  const MonoTime begun = client.clock().Mono();
  STOKER_ASSIGN(const TransferLists lists, List(client, ends));
  ThreadCrew crew;
  const TransferParts parts{*ends.source.side, *ends.target.side, memory, crew, client.clock()};
  Synced done;
  STOKER_ASSIGN(done.plan, Plan(client, wish, filter, ends, lists, parts));
  done.nothing = CheckTaken(done.plan, lists.source, from);
  if (wish.dry_run) return done;
  STOKER_TRY(CheckShare(client, to, lists.target.objects.size(), done.plan, wish.yes));
  STOKER_ASSIGN(done.report, Carry(client, parts, done.plan, wish.how));
  const Status compacted = memory.Compact(lists.source.objects);
  if (!compacted.ok()) client.Say("what was copied is not remembered: " + compacted.ToString());
  done.spent = client.clock().Mono() - begun;
  return done;
}

}  // namespace stoker::client

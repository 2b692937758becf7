// SPDX-License-Identifier: Apache-2.0
#include "client/clear/gc.h"

#include <algorithm>

#include "base/text.h"
#include "client/clear/private_over.h"
#include "client/clear/sweep.h"
#include "client/open/late_cancel.h"
#include "client/open/own_binaries.h"
#include "client/open/reserve.h"
#include "controller/all_jobs.h"
#include "ledger/index.h"
#include "ledger/records.h"
#include "sys/container/images_left.h"

namespace stoker::client {
namespace {

// A job whose end nobody noticed holds on to its blobs. Jobs that no list names any more are found
// again on the way.
Result<Unfinished> FinishJobs(Client& client, Ledger& ledger, Controller& controller) {
  Unfinished unfinished;
  WriteLateCancels(client, ledger);
  JobList listed;
  const auto hidden = FindHidden(ledger, &listed);
  if (!hidden.ok() && !hidden.status().Is(Code::kNoSpace)) return hidden.status();
  if (hidden.ok() && !hidden->empty()) {
    client.Say("found jobs that were in no list: " + Join(*hidden, ", "));
  }
  STOKER_TRY(
      PassAll(ledger, controller, [&](const std::string& id, const Result<PassResult>& pass) {
        if (!pass.ok() && !pass.status().Is(Code::kNotFound)) {
          unfinished[id] = pass.status();
        } else if (pass.ok() && pass->trouble) {
          unfinished[id] = *pass->trouble;
        }
      }).status());
  return unfinished;
}

bool AnyForRoom(const Unfinished& unfinished) {
  return std::any_of(unfinished.begin(), unfinished.end(),
                     [](const auto& one) { return one.second.Is(Code::kNoSpace); });
}

// Jobs that have not ended may begin a container of theirs yet, whenever they last did.
void KeepImagesOfJobs(Client& client, Ledger& ledger) {
  for (const std::string& id : ActiveJobs(ledger).value_or({})) {
    const auto read = ReadJob(ledger, id);
    if (read.ok()) NoteImageUse(client.places().state, read->job.image);
  }
}

// On this computer, and on others that this person owns.
void ClearMachines(Client& client, bool dry_run, Cleared* out) {
  for (Broker* broker : client.brokers().value_or({})) {
    for (const LeftOver& left : broker->ClearOver(dry_run)) {
      const auto& ids = left.ids;
      if (!ids.ok()) client.Say("left-over instances are kept: " + ids.status().ToString());
      for (const std::string& id : ids.value_or({})) {
        const bool image = StartsWith(id, kImageLeft);
        (image ? out->images : out->instances).push_back(id);
      }
    }
  }
}

void ClearHoldings(Client& client, bool all_regions, bool dry_run, Cleared* out) {
  out->held = SweepProviders(client, {all_regions, dry_run, {}});
  for (const ProviderSweep& sweep : out->held) {
    for (const Swept& one : sweep.found.things) {
      if (!one.over.empty() && one.ended.ok()) out->instances.push_back(one.thing.id);
    }
  }
}

// What a first try did removes nothing from what is told.
void AddTo(Collected* more, const Collected& first) {
  more->removed.jobs.insert(more->removed.jobs.end(), first.removed.jobs.begin(),
                            first.removed.jobs.end());
  more->removed.job_bytes += first.removed.job_bytes;
  more->removed.blobs += first.removed.blobs;
  more->removed.blob_bytes += first.removed.blob_bytes;
  more->left_over.insert(more->left_over.end(), first.left_over.begin(), first.left_over.end());
  more->left_over_bytes += first.left_over_bytes;
}

}  // namespace

// In this order, since a full disk is why people come: first what needs no room, then what may.
Result<Cleared> ClearAll(Client& client, const CollectRequest& request, bool all_regions) {
  Cleared out;
  const bool dry_run = request.dry_run;
  out.caches = ClearCaches(client, dry_run);
  const auto opened = client.ledger();
  if (client.no_store_yet()) {
    client.Say(opened.status().message() +
               ": only this computer's caches, and what 'stoker sync' began here, are looked at");
    out.uploads = SweepUploads(client, dry_run);
    out.unsaved = ClearUnsaved(client, dry_run);
    out.work_places = ClearWorkPlaces(client, dry_run);
    return out;
  }
  STOKER_ASSIGN(Ledger * ledger, opened);
  STOKER_ASSIGN(Controller * controller, client.controller());
  if (!dry_run) {
    STOKER_ASSIGN(out.unfinished, FinishJobs(client, *ledger, *controller));
    ForgetPrivate(client);
  }
  STOKER_ASSIGN(out.collected, CollectGarbage(*ledger, request));
  if (out.collected.not_doomed.Is(Code::kNoSpace) && LetGoOfReserve(client)) {
    STOKER_ASSIGN(Collected more, CollectGarbage(*ledger, request));
    AddTo(&more, out.collected);
    out.collected = std::move(more);
  }
  const auto envs = ClearOldEnvs(ledger->store(), dry_run);
  if (envs.ok()) out.envs = *envs;
  if (!envs.ok()) client.Say("kept environments stay: " + envs.status().ToString());
  // Before machines that are over are cleared away: jobs of other stores may still want theirs.
  const auto binaries = ClearBinaries(client, *ledger, kUnusedAge, dry_run);
  out.binaries = binaries.value_or(0);
  if (!binaries.ok()) client.Say("copies of stoker are kept: " + binaries.status().ToString());
  KeepImagesOfJobs(client, *ledger);
  ClearMachines(client, dry_run, &out);
  ClearHoldings(client, all_regions, dry_run, &out);
  out.uploads = SweepUploads(client, dry_run);
  out.unsaved = ClearUnsaved(client, dry_run);
  out.work_places = ClearWorkPlaces(client, dry_run);
  if (!dry_run && AnyForRoom(out.unfinished)) {
    (void)LetGoOfReserve(client);
    STOKER_ASSIGN(out.unfinished, FinishJobs(client, *ledger, *controller));
  }
  if (!dry_run) KeepReserve(client);
  return out;
}

Result<Collected> WouldCollect(Client& client, CollectRequest request) {
  const auto opened = client.ledger();
  if (client.no_store_yet()) return Collected();
  STOKER_ASSIGN(Ledger * ledger, opened);
  request.dry_run = true;
  return CollectGarbage(*ledger, request);
}

}  // namespace stoker::client

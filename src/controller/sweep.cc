// SPDX-License-Identifier: Apache-2.0
#include "controller/sweep.h"

#include <map>
#include <optional>
#include <utility>

#include "base/deliberate_bug.h"
#include "base/text.h"
#include "job/job.h"
#include "ledger/records.h"

namespace stoker {
namespace {

// Between a secret and the record of its job lies one command.
constexpr Duration kUnborn = Duration::Minutes(10);

// What the records say. Reads each once; what tags or labels say of the job only helps to find it.
class Records {
 public:
  explicit Records(Ledger& ledger) : ledger_(ledger) {}

  // The launch that this machine serves is closed, and the machine is not kept any more
  // (keep_failed). False where no record knows of it, or it cannot be read: that ends nothing.
  bool HasEnded(const Holding& machine) {
    const bool by_tags = BugIsOn("sweep-believes-tags");
    if ((machine.token.empty() && !by_tags) || !IsSafeName(machine.job)) return false;
    const JobRead* read = Read(machine.job);
    if (read == nullptr) return false;
    for (const Request& request : read->job.requests) {
      if (request.token != machine.token && !by_tags) continue;
      for (const Launch& launch : read->job.launches) {
        if (launch.request != request.number || launch.index != machine.index) continue;
        return launch.closed && !IsKept(launch, read->store_now);
      }
    }
    return false;
  }

  // The job has ended, or has no record: that comes before anything is made for it but secrets,
  // which are so old.
  bool IsOver(const std::string& job, std::optional<Duration> age = std::nullopt) {
    if (!IsSafeName(job)) return false;
    const JobRead* read = Read(job);
    if (read != nullptr) return IsFinal(read->job.state);
    return lost_.contains(job) && (!age || *age >= kUnborn);
  }

 private:
  // Null: there is none, or it cannot be read.
  const JobRead* Read(const std::string& id) {
    const auto known = jobs_.find(id);
    if (known != jobs_.end()) return known->second ? &*known->second : nullptr;
    auto read = ReadJob(ledger_, id);
    auto& job = jobs_[id];
    if (read.status().Is(Code::kNotFound)) lost_.insert(id);
    if (read.ok()) job = std::move(*read);
    return job ? &*job : nullptr;
  }

  Ledger& ledger_;
  std::map<std::string, std::optional<JobRead>> jobs_;
  std::set<std::string> lost_;  // those that have no record
};

std::string WhyExpired(const Holding& thing, WallTime now) {
  return IsExpired(thing, now) ? "its time was over " + FormatRfc3339(thing.expires) : "";
}

std::string WhyOver(const Holding& thing, WallTime now, Records& records) {
  // Nobody asks for machines in it any more.
  if (thing.kind == HoldingKind::kPlacement) {
    return !thing.in_use && records.IsOver(thing.job) ? "its job has ended" : "";
  }
  if (thing.kind == HoldingKind::kSecret) {
    const Duration age = thing.since.ms > 0 ? now - thing.since : Duration{};
    return records.IsOver(thing.job, age) ? "its job has ended" : "";
  }
  const bool ended = thing.kind == HoldingKind::kMachine && records.HasEnded(thing);
  return ended ? kEndedByRecord : WhyExpired(thing, now);
}

// Machines of such a ledger end when their time is over, as everywhere; what its machines shared,
// once none is left in the region.
std::string WhyGivenUp(const Holding& thing, const std::string& id, const Holdings& all) {
  const bool shared = thing.kind == HoldingKind::kGroup || thing.kind == HoldingKind::kPlacement ||
                      thing.kind == HoldingKind::kSecret;
  if (!shared) return WhyExpired(thing, all.now);
  for (const Holding& one : all.all) {
    const bool there = one.place.region == thing.place.region;
    if (one.kind == HoldingKind::kMachine && there) return "";
  }
  return "its ledger " + id + " was given up";
}

}  // namespace

Result<Sweeping> SweepProvider(Ledger& ledger, Broker& broker, const SweepRequest& request) {
  const LedgerRef ref{ledger.id(), &ledger.store()};
  Sweeping out;
  const auto take = [&](Holdings& found, const auto& why) {
    for (std::string& trouble : found.troubles) out.troubles.push_back(std::move(trouble));
    for (const Holding& thing : found.all) {
      Swept one{thing, why(thing), Status::Ok()};
      if (!one.over.empty() && !request.dry_run) one.ended = broker.End(thing);
      out.things.push_back(std::move(one));
    }
  };
  STOKER_ASSIGN(Holdings own, broker.List(ref, ledger.id(), request.everywhere));
  out.now = own.now;
  out.regions = own.regions;
  out.forbidden = own.forbidden;
  Records records(ledger);
  take(own, [&](const Holding& thing) { return WhyOver(thing, own.now, records); });
  for (const std::string& id : request.given_up) {
    auto found = broker.List(ref, id, request.everywhere);
    if (!found.ok()) {
      out.troubles.push_back(found.status().ToString());
      continue;
    }
    take(*found, [&](const Holding& thing) { return WhyGivenUp(thing, id, *found); });
  }
  return out;
}

}  // namespace stoker

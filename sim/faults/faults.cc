// SPDX-License-Identifier: Apache-2.0
#include "sim/faults/faults.h"

#include <algorithm>

#include "base/text.h"
#include "ledger/paths.h"
#include "sim/node/host.h"
#include "sim/node/node_agent.h"
#include "sim/people/actor.h"

namespace stoker::sim {
namespace {

void Count(World& world, const FaultPlan& fault) { ++world.strikes()[fault.kind]; }

// Whether the fault means this machine, as far as it says.
bool Means(World& world, const FaultPlan& fault, const Host& host) {
  if (!fault.who.empty()) return StartsWith(fault.who + "/", host.id + "/");
  if (fault.job.empty()) return true;
  if (host.request.job != fault.job) return false;
  const auto job = world.jobs().find(fault.job);
  if (fault.attempt == 0 || job == world.jobs().end()) return true;
  const Attempt* attempt = FindAttempt(job->second, fault.attempt);
  if (attempt == nullptr) return true;
  return std::find(attempt->launches.begin(), attempt->launches.end(), host.launch) !=
         attempt->launches.end();
}

// The machine that a fault means: the n-th that is up, or any. Null: none is.
Host* Pick(World& world, const FaultPlan& fault) {
  std::vector<Host*> up;
  for (const auto& [id, host] : world.hosts()) {
    if (host->up() && Means(world, fault, *host)) up.push_back(host.get());
  }
  if (up.empty()) return nullptr;
  const size_t index = fault.target >= 0 ? static_cast<size_t>(fault.target) % up.size()
                                         : static_cast<size_t>(world.rng().Below(up.size()));
  return up[index];
}

Actor* PickActor(World& world, const FaultPlan& fault) {
  std::vector<Actor*> running;
  for (const auto& actor : world.actors()) {
    const bool meant = fault.who.empty() || StartsWith(fault.who + "/", actor->name() + "/");
    if (actor->running() && meant) running.push_back(actor.get());
  }
  if (running.empty()) return nullptr;
  Count(world, fault);
  const size_t index = fault.target >= 0 ? static_cast<size_t>(fault.target) % running.size()
                                         : static_cast<size_t>(world.rng().Below(running.size()));
  return running[index];
}

template <void (*Act)(World&, Host&, const FaultPlan&)>
void OnMachine(World& world, const FaultPlan& fault) {
  Host* const host = Pick(world, fault);
  if (host == nullptr) return;
  Count(world, fault);
  world.Tell("fault", fault.kind + " " + std::to_string(fault.amount) + " on " + host->id);
  Act(world, *host, fault);
}

void GiveNotice(World& world, Host& host, const FaultPlan& fault) {
  world.cloud().Take(host.id, fault.amount);
}
void Withdraw(World& world, Host& host, const FaultPlan& fault) {
  world.cloud().Take(host.id, fault.amount);
  world.scheduler().In(fault.amount / 2, [&world, id = host.id] { world.cloud().Withdraw(id); });
}
// When the program has been told to end already.
void WithdrawLate(World& world, Host& host, const FaultPlan& fault) {
  world.cloud().Take(host.id, fault.amount);
  const int64_t margin = std::min<int64_t>(fault.amount / 4, 25'000);
  world.scheduler().In(fault.amount - margin + margin / 8,
                       [&world, id = host.id] { world.cloud().Withdraw(id); });
}
// By hand, with the platform's own tools.
void OwnerEnds(World& world, Host& host, const FaultPlan& fault) {
  host.shutting_down = true;
  world.cloud().EndByOwner(host.id, fault.amount);
}
void PlatformTakes(World& world, Host& host, const FaultPlan&) {
  world.cloud().End(host.id, "preempted", EndedBy::kPlatform);
}
void Kill(World& world, Host& host, const FaultPlan&) {
  world.cloud().End(host.id, "the host failed");
}
void StopStart(World& world, Host& host, const FaultPlan& fault) {
  host.shutting_down = true;
  world.cloud().StopAndStart(host.id, fault.amount);
}
// By a person, or a rule of the account: until somebody starts it.
void Stop(World& world, Host& host, const FaultPlan&) {
  host.shutting_down = true;
  world.cloud().StopAndStart(host.id, -1);
}
void KillAgent(World&, Host& host, const FaultPlan& fault) { host.KillAgent(fault.amount); }
void PauseAgent(World& world, Host& host, const FaultPlan& fault) {
  world.Once("clock of " + host.id + " stepped");  // to who sleeps while it reads the time
  host.PauseAgent(fault.amount);
}
// Everything on the machine stands still, and the platform says that it runs.
void Hang(World& world, Host& host, const FaultPlan& fault) {
  if (host.agent() != nullptr && host.agent()->attempt() != nullptr) {
    host.agent()->attempt()->PauseProgram(fault.amount);
  }
  PauseAgent(world, host, fault);
}
void KillOneProgram(World& world, Host& host, const FaultPlan&) {
  if (host.agent() != nullptr && host.agent()->attempt() != nullptr) {
    world.Once("killed " + host.request.job);
    host.agent()->attempt()->KillFromOutside();
  }
}
void Cut(World& world, Host& host, const FaultPlan& fault) {
  host.link.cut_until = world.now() + fault.amount;
}
void FullDisk(World& world, Host& host, const FaultPlan& fault) {
  host.FillDisk(world.now() + fault.amount);
}
void StepClock(World& world, Host& host, const FaultPlan& fault) {
  host.clock.skew += fault.amount;
  world.Once("clock of " + host.id + " stepped");
}

void StoreAway(World& world, const FaultPlan& fault) {
  Count(world, fault);
  world.Tell("fault", "the store is away for " + std::to_string(fault.amount) + " ms");
  // Two with only a moment in between are one: who is to speak may have missed it.
  if (world.bucket().away_until + 10'000 < world.now()) world.bucket().away_since = world.now();
  world.bucket().away_until = std::max(world.bucket().away_until, world.now() + fault.amount);
}
void CloudAway(World& world, const FaultPlan& fault) {
  world.Tell("fault", "the provider is away for " + std::to_string(fault.amount) + " ms");
  // Of a zone that is one of several providers': that one alone.
  const auto& zones = world.cloud().zones;
  const auto zone = std::find_if(zones.begin(), zones.end(), [&](const Zone& each) {
    return !fault.zone.empty() && each.name == fault.zone;
  });
  const bool one = zone != zones.end() && !zone->provider.empty();
  Cloud& cloud = world.cloud();
  int64_t& until = one ? cloud.one_away_until[zone->provider] : cloud.away_until;
  if (until < world.now()) {
    (one ? cloud.one_away_since[zone->provider] : cloud.away_since) = world.now();
  }
  until = std::max(until, world.now() + fault.amount);
}
// A zone (or region) of a provider that answers else: lists leave it out and say so.
void ZoneAway(World& world, const FaultPlan& fault) {
  Cloud& cloud = world.cloud();
  const std::string zone = fault.zone.empty() ? cloud.zones.front().name : fault.zone;
  Count(world, fault);
  world.Tell("fault", zone + " is away for " + std::to_string(fault.amount) + " ms");
  int64_t& until = cloud.zone_away_until[zone];
  if (until < world.now()) cloud.zone_away_since[zone] = world.now();
  until = std::max(until, world.now() + fault.amount);
}
// Machines that come up in the zone ("" = anywhere) meanwhile cannot begin. The newest word counts.
void TroubleBoots(World& world, const FaultPlan& fault, const BootFailure& failure) {
  Count(world, fault);
  world.Tell("fault", fault.kind + " for " + std::to_string(fault.amount) + " ms");
  for (const Zone& zone : world.cloud().zones) {
    if (!fault.zone.empty() && zone.name != fault.zone) continue;
    world.cloud().boot_troubles[zone.name] = {world.now() + fault.amount, failure};
  }
}
void NoWay(World& world, const FaultPlan& fault) {
  TroubleBoots(world, fault, {"sim: there is no way to the store. Make one", true});
}
void BootOutage(World& world, const FaultPlan& fault) {
  TroubleBoots(world, fault, {"sim: 503 Service Unavailable", false, true});
}
void KillActor(World& world, const FaultPlan& fault) {
  if (Actor* const actor = PickActor(world, fault)) actor->Kill(fault.amount);
}
void PauseActor(World& world, const FaultPlan& fault) {
  Actor* const actor = PickActor(world, fault);
  if (actor == nullptr) return;
  world.Tell("fault", actor->name() + " sleeps for " + std::to_string(fault.amount) + " ms");
  actor->Pause(fault.amount);
}
void CutActor(World& world, const FaultPlan& fault) {
  if (Actor* const actor = PickActor(world, fault)) {
    actor->link.cut_until = world.now() + fault.amount;
  }
}
// Whoever did what the fault waited for dies, before it hears of it: a command or an agent.
void KillCause(World& world, const FaultPlan& fault) {
  if (Actor* const actor = PickActor(world, fault)) return actor->Kill(fault.amount);
  if (Host* const host = Pick(world, fault)) {
    Count(world, fault);
    host->KillAgent(fault.amount);
  }
}

// Nothing is to be had in the zone ("" = anywhere) for so long; false: nor was it.
bool CloseFor(World& world, const std::string& zone, int64_t ms) {
  int64_t& until = world.nothing_until()[zone];
  const bool open = until <= world.now();
  until = std::max(until, world.now() + ms);
  return open;
}
int CapacityOf(World& world, const std::string& zone) {
  for (const Zone& one : world.plan().zones) {
    if (one.name == zone) return one.capacity;
  }
  return Zone().capacity;
}
void ReopenZone(World& world, const std::string& zone) {
  const int64_t left = world.nothing_until()[zone] - world.now();
  if (left > 0) return world.scheduler().In(left, [&world, zone] { ReopenZone(world, zone); });
  world.cloud().SetCapacity(zone, CapacityOf(world, zone), 0);
}
// Every machine of the zone gets a notice at once, and nothing is to be had there for a while;
// after that as much as before.
void Storm(World& world, const FaultPlan& fault) {
  const std::string zone = fault.zone.empty() ? world.cloud().zones.front().name : fault.zone;
  Count(world, fault);
  world.Tell("fault", "a storm in " + zone);
  world.cloud().SetCapacity(zone, 0, fault.amount);
  const int64_t length = fault.amount + 600'000;
  if (!CloseFor(world, zone, length)) return;
  world.scheduler().In(length, [&world, zone] { ReopenZone(world, zone); });
}
void EndDrought(World& world) {
  const int64_t left = world.nothing_until()[""] - world.now();
  if (left > 0) return world.scheduler().In(left, [&world] { EndDrought(world); });
  world.cloud().faults.no_capacity = world.calm() ? 0 : world.plan().cloud.no_capacity;
}
// What runs stays; who asks for a machine gets none. Ends with the calm.
void Drought(World& world, const FaultPlan& fault) {
  Count(world, fault);
  world.Tell("fault", "no machine is to be had for " + std::to_string(fault.amount) + " ms");
  world.cloud().faults.no_capacity = 1'000;
  if (!CloseFor(world, "", fault.amount)) return;
  world.scheduler().In(fault.amount, [&world] { EndDrought(world); });
}
// An object of some job is damaged in the store: its newest checkpoint's data.
void RotCheckpoint(World& world, const FaultPlan&) {
  const std::string wanted = "/checkpoints/";
  std::string newest;
  for (const auto& [key, entry] : world.bucket().objects()) {
    if (key.find(wanted) != std::string::npos && key.find("/data/") != std::string::npos) {
      newest = key;
    }
  }
  if (newest.empty()) return;
  std::string rotten = *world.bucket().Find(newest)->data;
  if (rotten.empty()) return;
  rotten[rotten.size() / 2] = static_cast<char>(rotten[rotten.size() / 2] ^ 1);
  world.Tell("fault", "rots " + newest);
  world.Once("rotten " + newest);
  world.Once("rotten " + newest.substr(5, newest.find('/', 5) - 5));  // the job
  world.bucket().Plant(newest, std::make_shared<const std::string>(std::move(rotten)));
}
// A stoker that is newer than all that run here has written the record; what was there comes back
// after a while, unless somebody has touched it.
void NewerRecord(World& world, const FaultPlan& fault) {
  std::string job = fault.job;
  for (const auto& [id, record] : world.jobs()) {
    if (job.empty() && !IsFinal(record.state)) job = id;
  }
  const std::string key = paths::Record(job);
  const auto* const entry = world.bucket().Find(key);
  const std::string word = "\"format\":";
  const size_t at = entry == nullptr ? std::string::npos : entry->data->find(word);
  if (at == std::string::npos) return;
  Count(world, fault);
  const auto before = entry->data;
  const std::string ours = std::to_string(kRecordFormat) + ",";
  if (before->compare(at + word.size(), ours.size(), ours) != 0) {
    // What would come back after this one is the other newer record, and that would stay.
    world.Tell("fault", "the record of " + job + " is a newer stoker's already");
    return;
  }
  std::string text = *before;
  text.replace(at + word.size(), ours.size() - 1, std::to_string(kRecordFormat + 1));
  const auto newer = std::make_shared<const std::string>(std::move(text));
  world.Tell("fault", "a newer stoker has written the record of " + job);
  world.bucket().Plant(key, newer);
  world.scheduler().In(fault.amount, [&world, key, before, newer] {
    const auto* const now = world.bucket().Find(key);
    if (now == nullptr || now->data != newer) return;
    world.Tell("fault", key + " is as it was");
    world.bucket().Plant(key, before);
  });
}

}  // namespace

const std::vector<FaultKind>& FaultKinds() {
  static const std::vector<FaultKind> kinds = {
      {"cut", "ms", 1'000, 200'000, OnMachine<Cut>},
      {"cut-actor", "ms", 1'000, 200'000, CutActor},
      {"full-disk", "ms", 1'000, 120'000, OnMachine<FullDisk>},
      {"kill", "", 0, 0, OnMachine<Kill>},
      {"kill-actor", "ms until it is back", 0, 60'000, KillActor},
      {"kill-agent", "ms until it is back", 50, 20'000, OnMachine<KillAgent>},
      {"kill-program", "", 0, 0, OnMachine<KillOneProgram>},
      {"notice", "lead in ms", 2'000, 120'000, OnMachine<GiveNotice>},
      {"pause-actor", "ms", 1'000, 300'000, PauseActor},
      {"pause-agent", "ms", 1'000, 200'000, OnMachine<PauseAgent>},
      {"rot-checkpoint", "", 0, 0, RotCheckpoint},
      {"step-clock", "ms", -600'000, 600'000, OnMachine<StepClock>},
      {"stop-start", "ms until it is back", 5'000, 300'000, OnMachine<StopStart>},
      {"store-away", "ms", 1'000, 120'000, StoreAway},
      {"storm", "lead in ms", 0, 120'000, Storm},
      {"withdraw", "lead in ms", 10'000, 120'000, OnMachine<Withdraw>},
  };
  return kinds;
}

const std::vector<FaultKind>& ScenarioKinds() {
  static const std::vector<FaultKind> kinds = {
      {"boot-outage", "ms", 60'000, 36'000'000, BootOutage},
      {"cloud-away", "ms", 1'000, 900'000, CloudAway},
      {"drought", "ms", 1'000, 7'200'000, Drought},
      {"hang", "ms", 60'000, 86'400'000, OnMachine<Hang>},
      {"kill-cause", "ms until it is back", 0, 60'000, KillCause},
      {"newer-record", "ms until it is as before", 1'000, 600'000, NewerRecord},
      {"no-way", "ms", 60'000, 36'000'000, NoWay},
      {"owner-ends", "ms until it is told who it was", 0, 70'000, OnMachine<OwnerEnds>},
      {"platform-takes", "", 0, 0, OnMachine<PlatformTakes>},
      {"stop", "", 0, 0, OnMachine<Stop>},
      {"withdraw-late", "lead in ms", 10'000, 120'000, OnMachine<WithdrawLate>},
      {"zone-away", "ms", 1'000, 900'000, ZoneAway},
  };
  return kinds;
}

const FaultKind* FindFault(const std::string& name) {
  for (const auto* kinds : {&FaultKinds(), &DamageKinds(), &RefusalKinds(), &AccountKinds(),
                            &OwnKinds(), &ScenarioKinds()}) {
    for (const FaultKind& kind : *kinds) {
      if (kind.name == name) return &kind;
    }
  }
  return nullptr;
}

namespace {

void Strike(World& world, const FaultPlan& fault, const FaultKind& kind, int left) {
  if (world.calm() && fault.count > 1) return;
  kind.strike(world, fault);
  if (left <= 1 || fault.every <= 0) return;
  world.scheduler().In(fault.every,
                       [&world, &fault, &kind, left] { Strike(world, fault, kind, left - 1); });
}

}  // namespace

void ScheduleFaults(World& world) {
  for (const FaultPlan& fault : world.plan().faults) {
    const FaultKind* const kind = FindFault(fault.kind);
    if (kind == nullptr || !fault.on.empty()) continue;
    world.scheduler().At(fault.at,
                         [&world, &fault, kind] { Strike(world, fault, *kind, fault.count); });
  }
}

}  // namespace stoker::sim

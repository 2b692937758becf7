// SPDX-License-Identifier: Apache-2.0
// The service and its machines. Every draw is a statement of its own: the order of draws is the
// order of the text, with every compiler.
#include "sim/cloud/cloud.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "base/text.h"

namespace stoker::sim {
namespace {

constexpr int64_t kListedAfterEnd = 3'600'000;  // EC2 shows terminated machines for about an hour
constexpr int64_t kDefaultLimit = 86'400'000;
constexpr int64_t kNoLimit = 365LL * 86'400'000;  // of what queues: its time has not begun
constexpr int64_t kGraceAtBoot = 900'000;
constexpr int64_t kShutdownNotice = 20'000;  // what an agent takes a shutdown for
constexpr int64_t kOwnersShutdown = 90'000;  // from the button to the cut
constexpr int64_t kShutdown = 5'000;         // at most: of a machine that is being stopped

// Of tokens and of machines, as the local provider says it.
bool IsName(const std::string& text) {
  return !text.empty() && text[0] != '.' && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '_' || c == '.';
  });
}

bool IsGone(const CloudMachine& machine) { return machine.state == InstanceState::kGone; }

bool IsDown(const CloudMachine& machine) {
  return machine.state == InstanceState::kStopping || machine.state == InstanceState::kStopped;
}

LaunchAnswer No(RefusalClass what, RefusalScope scope, const std::string& words) {
  return Refusal{what, scope, {}, {}, false, words};
}

std::string IdOf(int number) {
  char text[20];
  std::snprintf(text, sizeof text, "i-%08d", number);
  return text;
}

std::string AddressOf(int number) {
  return "10." + std::to_string(number >> 16 & 255) + "." + std::to_string(number >> 8 & 255) +
         "." + std::to_string(number & 255);
}

}  // namespace

Cloud::Cloud(Scheduler& scheduler, Prng& prng) : scheduler_(scheduler), prng_(prng) {
  traits.name = "sim";
}

CloudMachine* Cloud::Find(const std::string& id) {
  const auto found = machines_.find(id);
  return found == machines_.end() ? nullptr : &found->second;
}

int Cloud::Running() const {
  int all = 0;
  for (const Zone& zone : zones) all += zone.running;
  return all;
}

bool Cloud::CallerIsDead() const {
  return scheduler_.current() != nullptr && scheduler_.current()->dead();
}

// ---- what nobody reaches ----

bool Cloud::IsZoneAway(const std::string& zone) const {
  const auto found = zone_away_until.find(zone);
  return found != zone_away_until.end() && scheduler_.now() < found->second;
}

bool Cloud::WasAway(const CloudMachine& machine, int64_t since, int64_t until) const {
  if (away_since <= since && until < away_until) return true;
  const auto covers = [&](const auto& sinces, const auto& untils, const std::string& name) {
    const auto began = sinces.find(name), ends = untils.find(name);
    return began != sinces.end() && began->second <= since && until < ends->second;
  };
  return covers(one_away_since, one_away_until, machine.request.ask.place.provider) ||
         covers(zone_away_since, zone_away_until, machine.zone);
}

int64_t Cloud::LastAway() const {
  int64_t last = away_until;
  for (const auto& [provider, until] : one_away_until) last = std::max(last, until);
  for (const auto& [zone, until] : zone_away_until) last = std::max(last, until);
  return last;
}

// ---- what Describe shows ----

int64_t Cloud::Staleness() const {
  if (traits.describe_is_immediate) return 0;
  return std::clamp<int64_t>(stale_ms, 0, std::max<int64_t>(0, traits.appear_within.ms));
}

void Cloud::Remember(CloudMachine& machine) {
  auto& views = machine.views;
  const int64_t now = scheduler_.now();
  // What no answer can show any more.
  while (views.size() > 1 && views[1].since <= now - Staleness()) views.erase(views.begin());
  if (!views.empty() && views.back().since == now) views.pop_back();
  const bool up = machine.state == InstanceState::kRequested ||
                  machine.state == InstanceState::kBooting ||
                  machine.state == InstanceState::kRunning;
  views.push_back({now, machine.state, machine.why, machine.address, machine.expires_at,
                   up ? machine.powered_at : -1});
}

bool Cloud::InHole(CloudMachine& machine) {
  const int64_t now = scheduler_.now();
  if (machine.hole_until == 0 && faults.holes > 0 && !traits.describe_is_immediate &&
      prng_.Chance(static_cast<uint64_t>(faults.holes), 1000)) {
    machine.hole_until = now + prng_.Between(1, std::max<int64_t>(1, faults.hole_ms));
  }
  return now < machine.hole_until;
}

InstancesSeen Cloud::Show(const std::string& provider, const std::string& ledger_id,
                          const std::string& job, bool stale) {
  const int64_t now = scheduler_.now();
  int64_t as_of = now;
  if (stale && Staleness() > 0) as_of -= prng_.Between(0, Staleness());
  InstancesSeen out;
  for (const Zone& zone : zones) {
    if (!stale || !IsZoneAway(zone.name)) continue;
    if (!provider.empty() && zone.provider != provider) continue;
    out.unheard.push_back({Place{provider, "", "", zone.name},
                           Status(Code::kUnavailable, "sim: " + zone.name + " does not answer")});
  }
  const auto show = [&](CloudMachine& machine) {
    const LaunchRequest& request = machine.request;
    if (!lists_all && request.ledger_id != ledger_id) return;
    if (as_of < machine.made_at || (!job.empty() && request.job != job)) return;
    if (!provider.empty() && request.ask.place.provider != provider) return;
    if (stale && IsZoneAway(machine.zone)) return;
    if (stale && Staleness() > 0 && now < machine.visible_at) return;
    if (stale && InHole(machine)) return;
    const CloudView* view = &machine.views.front();
    for (const CloudView& other : machine.views) {
      if (other.since <= as_of) view = &other;
    }
    const bool gone = view->state == InstanceState::kGone;
    if (gone && as_of >= machine.gone_at + kListedAfterEnd) return;
    InstanceSeen seen = SeenOf(request, machine.index, machine.id);
    seen.state = view->state;
    seen.address = view->address;
    seen.why = view->why;
    seen.type = request.ask.type.empty() ? kUsualType : request.ask.type;
    seen.expires = {kEpochMs + view->expires_at};
    seen.freed = gone;
    if (gone || view->state == InstanceState::kStopped) seen.refusal = machine.refusal;
    const bool goes = gone || view->state == InstanceState::kStopping;
    if (goes && now >= machine.ender_told_at) seen.ended_by = machine.ended_by;
    if (view->powered_at >= 0) seen.up_for = Duration::Ms(as_of - view->powered_at);
    TellOtherwise(machine, now, &seen);
    out.push_back(std::move(seen));
  };
  if (job.empty() || lists_all) {
    for (auto& [id, machine] : machines_) show(machine);
  } else if (const auto found = by_job_.find({ledger_id, job}); found != by_job_.end()) {
    for (const std::string& id : found->second) show(machines_.at(id));
  }
  return out;
}

// ---- how machines come ----

Zone* Cloud::RoomFor(const LaunchRequest& request) {
  const auto machines = static_cast<int>(request.launches.size());
  const Place& place = request.ask.place;
  for (Zone& zone : zones) {
    if (!zone.provider.empty() && zone.provider != place.provider) continue;
    if (!place.zone.empty() && zone.name != place.zone) continue;
    if (request.ask.ceiling && zone.price > *request.ask.ceiling) continue;
    if (IsZoneAway(zone.name)) continue;
    if (zone.running + machines <= zone.capacity) return &zone;
  }
  return nullptr;
}

bool Cloud::InTime(const LaunchRequest& request) const {
  return request.not_after.ms <= 0 || Now() <= request.not_after;
}

std::optional<LaunchAnswer> Cloud::Known(const std::string& token) const {
  const auto known = by_token_.find(token);
  if (known == by_token_.end()) return std::nullopt;
  std::vector<std::string> ids;
  const CloudMachine* newest = nullptr;  // of those that are gone
  bool all_gone = true;
  for (const std::string& id : known->second) {
    const CloudMachine& machine = machines_.at(id);
    ids.push_back(IsGone(machine) ? "" : id);
    all_gone = all_gone && IsGone(machine);
    if (newest == nullptr || machine.gone_at > newest->gone_at) newest = &machine;
  }
  if (!all_gone) return ids;
  if (scheduler_.now() >= newest->gone_at + token_memory_ms) return std::nullopt;
  return No(RefusalClass::kOver, RefusalScope::kRequest,
            "sim: the instance of this launch is over: " + newest->why);
}

LaunchAnswer Cloud::Make(const LaunchRequest& request, const std::string& process,
                         bool sent_in_time) {
  if (requested) requested(request, process);
  if (!IsName(request.token) || request.launches.empty()) {
    return No(RefusalClass::kInvalid, RefusalScope::kRequest,
              "sim: not a launch token: " + Printable(request.token));
  }
  const bool doubled =
      faults.doubled > 0 && prng_.Chance(static_cast<uint64_t>(faults.doubled), 1000);
  const auto known = Known(request.token);
  if (known && !doubled) return *known;
  if (late_sends ? !sent_in_time : !InTime(request)) {
    return No(RefusalClass::kOver, RefusalScope::kRequest,
              "sim: the time to send this launch is over");
  }
  if (refuses) return *refuses;
  const auto machines = static_cast<int>(request.launches.size());
  if (Running() + machines > quota) {
    return No(RefusalClass::kQuota, RefusalScope::kRegion, "sim: the quota is used up");
  }
  if (!IsThere(request.ask.place)) {
    return No(RefusalClass::kInvalid, RefusalScope::kRequest,
              "sim: there is no zone " + request.ask.place.zone);
  }
  Zone* zone = RoomFor(request);
  const Refusal full{RefusalClass::kCapacity,       RefusalScope::kZone, {}, {}, false,
                     "sim: no capacity in any zone"};
  const bool late = zone == nullptr && faults.late_refusals > 0 &&
                    prng_.Chance(static_cast<uint64_t>(faults.late_refusals), 1000);
  if (zone == nullptr && !late) return full;
  if (late) zone = &ZoneFor(request);
  std::vector<std::string> ids;
  const int64_t queue = late ? 0 : QueueTime();
  for (int index = 0; index < machines; ++index) {
    ids.push_back(Add(request, index, *zone, queue, late ? full : dooms).id);
  }
  for (const std::string& id : ids) machines_.at(id).gang = ids;
  by_token_[request.token] = ids;
  return ids;
}

bool Cloud::IsThere(const Place& place) const {
  return place.zone.empty() || std::any_of(zones.begin(), zones.end(), [&](const Zone& zone) {
           return zone.name == place.zone;
         });
}

// Where it is asked for, room or none.
Zone& Cloud::ZoneFor(const LaunchRequest& request) {
  const Place& place = request.ask.place;
  for (Zone& zone : zones) {
    if (!zone.provider.empty() && zone.provider != place.provider) continue;
    if (place.zone.empty() || zone.name == place.zone) return zone;
  }
  return zones.front();
}

int64_t Cloud::QueueTime() {
  if (faults.queues <= 0 || !prng_.Chance(static_cast<uint64_t>(faults.queues), 1000)) return 0;
  return prng_.Between(1, std::max<int64_t>(1, faults.queue_ms));
}

CloudMachine& Cloud::Add(const LaunchRequest& request, int index, Zone& zone, int64_t queue_ms,
                         const std::optional<Refusal>& doom) {
  const int64_t now = scheduler_.now();
  const int number = next_++;
  CloudMachine& machine = machines_[IdOf(number)];
  machine.id = IdOf(number);
  machine.owner = asking_;
  machine.price = zone.price;
  machine.request = request;
  machine.index = index;
  machine.doom = doom;
  machine.zone = zone.name;
  machine.made_at = now;
  machine.powered_at = now;
  machine.renewed_at = now;
  machine.expires_at = now + (request.limit.ms > 0 ? request.limit.ms : kDefaultLimit);
  machine.visible_at = now + prng_.Between(0, Staleness());
  ++zone.running;
  ++running_of_.at(static_cast<size_t>(machine.owner + 1));
  by_job_[{request.ledger_id, request.job}].push_back(machine.id);
  if (queue_ms > 0) {
    machine.state = InstanceState::kQueued;
    machine.why = "Priority";
    machine.expires_at = now + kNoLimit;
    Later(machine, now + queue_ms, [this](CloudMachine& m) { LeaveQueue(m); });
  }
  Remember(machine);
  if (queue_ms <= 0) ComeUp(machine);
  return machine;
}

// Its time begins now.
void Cloud::LeaveQueue(CloudMachine& machine) {
  const Duration limit = machine.request.limit;
  machine.expires_at = scheduler_.now() + (limit.ms > 0 ? limit.ms : kDefaultLimit);
  machine.why.clear();
  machine.powered_at = scheduler_.now();
  machine.renewed_at = scheduler_.now();
  ++machine.power;
  Enter(machine, InstanceState::kRequested);
  ComeUp(machine);
}

void Cloud::EndQueue() {
  for (auto& [id, machine] : machines_) {
    if (machine.state == InstanceState::kQueued) LeaveQueue(machine);
  }
}

// For the first time.
void Cloud::ComeUp(CloudMachine& machine) {
  const int64_t now = scheduler_.now();
  const bool never = prng_.Chance(static_cast<uint64_t>(faults.never_boots), 1000);
  const int64_t boot = BootTime();
  Later(machine, now + boot / 10, [this](CloudMachine& m) { Enter(m, InstanceState::kBooting); });
  if (!never) Later(machine, now + boot, [this](CloudMachine& m) { Boot(m); });
  scheduler_.At(machine.expires_at, [this, id = machine.id] { CheckLimit(id); });
  if (faults.dead_births > 0) DrawDoom(machine);
  if (machine.doom) {
    Later(machine, now + boot / 2, [this](CloudMachine& m) {
      m.refusal = m.doom;
      End(m.id, m.doom->message);
    });
    return;
  }
  const bool stops =
      faults.stops_early > 0 && prng_.Chance(static_cast<uint64_t>(faults.stops_early), 1000);
  if (!stops) return;
  const int64_t from = boot / 2;
  Later(machine, now + from, [this](CloudMachine& m) { StopAndStart(m.id, -1); });
}

void Cloud::DrawDoom(CloudMachine& machine) {
  if (!prng_.Chance(static_cast<uint64_t>(faults.dead_births), 1000) || machine.doom) return;
  Refusal doom;
  const uint64_t kind = prng_.Below(3);
  doom.what = kind == 2 ? RefusalClass::kQuota : RefusalClass::kCapacity;
  doom.scope = kind == 0   ? RefusalScope::kZone
               : kind == 1 ? RefusalScope::kMarket
                           : RefusalScope::kRegion;
  doom.message = kind == 2 ? "Client.VolumeLimitExceeded" : "Server.InsufficientInstanceCapacity";
  machine.doom = doom;
}

int64_t Cloud::BootTime() {
  const bool slow = prng_.Chance(static_cast<uint64_t>(faults.slow_boots), 1000);
  const int64_t low = slow ? boot_high : boot_low;
  const int64_t high = slow ? faults.slow_boot_ms : boot_high;
  return prng_.Between(std::min(low, high), high);
}

void Cloud::Later(const CloudMachine& machine, int64_t at,
                  std::function<void(CloudMachine&)> next) {
  scheduler_.At(at, [this, id = machine.id, power = machine.power, next = std::move(next)] {
    CloudMachine& there = machines_.at(id);
    if (there.power == power) next(there);
  });
}

void Cloud::Enter(CloudMachine& machine, InstanceState state) {
  if (machine.state == InstanceState::kRunning) {
    machine.ran_ms += scheduler_.now() - machine.booted_at;
  }
  machine.state = state;
  Remember(machine);
}

void Cloud::Boot(CloudMachine& machine) {
  const int64_t now = scheduler_.now();
  if (now >= machine.expires_at) return End(machine.id, "past its limit when it came up");
  machine.booted_at = now;
  ++machine.boots;
  machine.why.clear();
  machine.address = AddressOf(std::atoi(machine.id.c_str() + 2));
  Enter(machine, InstanceState::kRunning);
  Begin(machine);
}

// ---- what becomes of them ----

void Cloud::CheckLimit(const std::string& id) {
  const CloudMachine& machine = machines_.at(id);
  if (IsGone(machine)) return;
  if (scheduler_.now() < machine.expires_at) {
    scheduler_.At(machine.expires_at, [this, id] { CheckLimit(id); });
    return;
  }
  if (limit_needs_boot && machine.state != InstanceState::kRunning) return;
  End(id, "its limit is over");
}

void Cloud::Renew(const std::string& id, int64_t expires_at) {
  CloudMachine* const machine = Find(id);
  if (machine == nullptr || IsGone(*machine) || CallerIsDead()) return;
  const bool sooner = expires_at < machine->expires_at;
  // With nothing armed: it was past its limit, and down.
  const bool over = machine->expires_at <= scheduler_.now();
  machine->expires_at = expires_at;
  machine->renewed_at = scheduler_.now();
  Remember(*machine);
  if (sooner || over) scheduler_.At(expires_at, [this, id] { CheckLimit(id); });
}

void Cloud::Take(const std::string& id, int64_t lead) {
  CloudMachine* const machine = Find(id);
  if (machine == nullptr || IsGone(*machine)) return;
  const std::string why = "taken by the platform";
  const auto take = [this, id, why] { return stops_taken ? StopAndStart(id, -1) : End(id, why); };
  if (lead <= 0) return take();
  const WallTime until = Now() + Duration::Ms(lead);
  if (machine->notice && machine->notice->until <= until) return;
  machine->notice = Notice{stops_taken ? "stop" : "terminate", until};
  const int64_t number = ++machine->notices;
  scheduler_.In(lead, [this, id, number, take] {
    if (machines_.at(id).notices == number) take();
  });
  if (noticed) noticed(*machine);
}

void Cloud::Withdraw(const std::string& id) {
  CloudMachine* const machine = Find(id);
  if (machine == nullptr) return;
  machine->notice.reset();
  ++machine->notices;
}

void Cloud::StopAndStart(const std::string& id, int64_t down_ms) {
  CloudMachine* const machine = Find(id);
  if (machine == nullptr || IsGone(*machine) || IsDown(*machine)) return;
  if (machine->state == InstanceState::kQueued) return;
  ++machine->power;
  machine->stopped_at = scheduler_.now();
  machine->notice.reset();
  ++machine->notices;
  machine->why = "stopped by the platform";
  machine->refusal.reset();
  Enter(*machine, InstanceState::kStopping);
  const bool comes_up = down_ms >= 0;
  const int64_t boot = comes_up ? BootTime() : 0;
  const int64_t now = scheduler_.now();
  Later(*machine, now + (comes_up ? std::min(down_ms / 2, kShutdown) : kShutdown),
        [this](CloudMachine& m) { Enter(m, InstanceState::kStopped); });
  if (comes_up) Later(*machine, now + down_ms, [this, boot](CloudMachine& m) { PowerOn(m, boot); });
  if (stopped) stopped(*machine);  // last: it may kill the caller
}

void Cloud::PowerOn(CloudMachine& machine, int64_t boot) {
  machine.powered_at = scheduler_.now();
  ++machine.power;
  machine.refusal.reset();
  const int64_t grace = scheduler_.now() + kGraceAtBoot;
  if (stops_taken && machine.expires_at < grace) {
    machine.expires_at = grace;
    scheduler_.At(grace, [this, id = machine.id] { CheckLimit(id); });
  }
  Enter(machine, InstanceState::kBooting);
  Later(machine, scheduler_.now() + boot, [this](CloudMachine& m) { Boot(m); });
}

void Cloud::FailToStart(CloudMachine& machine) {
  ++machine.power;
  Enter(machine, InstanceState::kBooting);
  Refusal refusal;
  refusal.message = "ZONE_RESOURCE_POOL_EXHAUSTED";
  const bool is_told = !prng_.Chance(static_cast<uint64_t>(faults.starts_mute), 1000);
  Later(machine, scheduler_.now() + BootTime() / 2, [this, refusal, is_told](CloudMachine& m) {
    if (is_told) m.refusal = refusal;
    Enter(m, InstanceState::kStopped);
  });
}

void Cloud::End(const std::string& id, const std::string& why, EndedBy by) {
  CloudMachine* const machine = Find(id);
  if (machine == nullptr || IsGone(*machine) || CallerIsDead()) return;
  machine->why = why;
  // Who wanted it ended keeps having wanted it when its power goes.
  if (by != EndedBy::kUnknown) machine->ended_by = by;
  if (machine->ended_by == EndedBy::kUnknown) machine->ended_by = EndedBy::kOther;
  machine->gone_at = scheduler_.now();
  machine->notice.reset();
  ++machine->notices;
  ++machine->power;
  Enter(*machine, InstanceState::kGone);
  for (Zone& zone : zones) {
    if (zone.name == machine->zone) --zone.running;
  }
  --running_of_.at(static_cast<size_t>(machine->owner + 1));
  if (ended) ended(*machine);  // last: it may kill the caller
}

void Cloud::EndByOwner(const std::string& id, int64_t told_ms) {
  CloudMachine* const machine = Find(id);
  if (machine == nullptr || IsGone(*machine) || IsDown(*machine)) return;
  machine->ended_by = EndedBy::kOwner;
  machine->ender_told_at = scheduler_.now() + told_ms;
  machine->notice = Notice{"terminate", Now() + Duration::Ms(kShutdownNotice), true};
  ++machine->notices;
  ++machine->power;
  Enter(*machine, InstanceState::kStopping);
  Later(*machine, scheduler_.now() + kOwnersShutdown,
        [this](CloudMachine& m) { End(m.id, "ended by its owner"); });
}

void Cloud::SetCapacity(const std::string& name, int capacity, int64_t lead) {
  auto zone =
      std::find_if(zones.begin(), zones.end(), [&](const Zone& z) { return z.name == name; });
  if (zone == zones.end()) zone = zones.insert(zones.end(), Zone{name});
  zone->capacity = std::max(capacity, 0);
  const int excess = zone->running - zone->capacity;
  if (excess <= 0) return;
  std::vector<std::string> have_notice;
  std::vector<std::string> others;
  for (auto at = machines_.rbegin(); at != machines_.rend(); ++at) {
    const CloudMachine& machine = at->second;
    if (machine.zone != name || IsGone(machine)) continue;
    (machine.notice ? have_notice : others).push_back(machine.id);
  }
  have_notice.insert(have_notice.end(), others.begin(), others.end());
  if (have_notice.size() > static_cast<size_t>(excess))
    have_notice.resize(static_cast<size_t>(excess));
  for (const std::string& id : have_notice) Take(id, lead);
}

// ---- requests about machines that are there ----

Status Cloud::Finish(const std::string& id, const std::string& process) {
  if (!IsName(id)) return Status(Code::kInvalid, "sim: not an instance: " + Printable(id));
  const CloudMachine* const machine = Find(id);
  if (machine == nullptr) return Status::Ok();
  if (scheduler_.now() < machine->away_until || IsZoneAway(machine->zone)) {
    return Status(Code::kUnavailable, "sim: " + Printable(id) + " does not answer");
  }
  std::vector<std::string> ends = {id};
  if (!traits.ends_one_alone) ends = machine->gang;
  for (const std::string& each : ends) {
    if (terminating) terminating(machines_.at(each), process);
    End(each, "terminated");
  }
  return Status::Ok();
}

StartAnswer Cloud::GivePower(const std::string& id, const std::string& process) {
  CloudMachine* const machine = Find(id);
  if (machine == nullptr || IsGone(*machine)) {
    return Status(Code::kNotFound, "sim: no machine " + Printable(id) + " is there");
  }
  if (!traits.can_start) return Status(Code::kInvalid, "sim: no machine is started again");
  if (IsZoneAway(machine->zone)) {
    return Status(Code::kUnavailable, "sim: " + machine->zone + " does not answer");
  }
  if (starting) starting(*machine, process);
  if (machine->state == InstanceState::kStopping) {
    return Status(Code::kBusy, "sim: " + Printable(id) + " is being stopped");
  }
  if (machine->state != InstanceState::kStopped) return Status::Ok();
  const bool fails =
      faults.starts_fail > 0 && prng_.Chance(static_cast<uint64_t>(faults.starts_fail), 1000);
  if (fails) {
    FailToStart(*machine);
  } else {
    PowerOn(*machine, BootTime());
  }
  return Status::Ok();
}

Status Cloud::Warn(const std::string& id, Duration lead) {
  const CloudMachine* const machine = Find(id);
  if (machine == nullptr || IsGone(*machine)) {
    return Status(Code::kNotFound, "sim: no machine " + Printable(id) + " runs");
  }
  Take(id, lead.ms);
  return Status::Ok();
}

}  // namespace stoker::sim

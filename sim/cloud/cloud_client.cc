// SPDX-License-Identifier: Apache-2.0
// One process's requests: their way there, their moment, their way back. Every draw is a statement
// of its own: the order of draws is the order of the text, with every compiler.
#include <algorithm>
#include <utility>

#include "base/text.h"
#include "sim/cloud/cloud.h"

namespace stoker::sim {

CloudClient::CloudClient(Cloud& cloud, Scheduler& scheduler, Prng& prng, std::string process,
                         Link* link, std::string provider, int owner)
    : cloud_(cloud),
      scheduler_(scheduler),
      prng_(prng),
      process_(std::move(process)),
      link_(link),
      provider_(std::move(provider)),
      owner_(owner) {}

const ProviderTraits& CloudClient::traits() const {
  traits_ = cloud_.traits;
  if (!provider_.empty()) traits_.name = provider_;
  return traits_;
}

bool CloudClient::Cut() const {
  const int64_t now = scheduler_.now();
  const auto away = cloud_.one_away_until.find(provider_);
  if (away != cloud_.one_away_until.end() && now < away->second) return true;
  return now < cloud_.away_until || (link_ != nullptr && now < link_->cut_until);
}

CloudClient::Fault CloudClient::Draw(Kind kind) {
  if (Cut()) return prng_.Chance(1, 2) ? Fault::kRefused : Fault::kUnheard;
  const CloudFaults& faults = cloud_.faults;
  auto roll = static_cast<int>(prng_.Below(1000));
  const auto hits = [&roll](int rate) {
    roll -= rate;
    return roll < 0;
  };
  if (hits(faults.before)) return Fault::kRefused;
  if (hits(faults.throttled)) return Fault::kThrottled;
  if (hits(faults.denied)) return Fault::kDenied;
  if (kind == Kind::kLaunch && hits(faults.malformed)) return Fault::kMalformed;
  if (hits(faults.after)) return Fault::kUnanswered;
  if (kind != Kind::kDescribe && hits(faults.late)) return Fault::kLate;
  const bool takes_room = kind == Kind::kLaunch || kind == Kind::kStart;
  if (takes_room && hits(faults.no_capacity)) return Fault::kNoSpace;
  if (kind != Kind::kLaunch) return Fault::kNone;
  if (hits(faults.no_market)) return Fault::kNoMarket;
  if (hits(faults.no_quota)) return Fault::kNoQuota;
  if (hits(faults.unsettled)) return Fault::kUnsettled;
  return Fault::kNone;
}

Result<CloudClient::Trip> CloudClient::Send(Kind kind) {
  Trip trip;
  trip.real = scheduler_.current() != nullptr;
  if (trip.real && scheduler_.current()->dead()) {
    return Status(Code::kUnavailable, "sim: the process is dead");
  }
  static constexpr int64_t CloudCounts::*kCounters[] = {
      &CloudCounts::launches, &CloudCounts::describes, &CloudCounts::terminates,
      &CloudCounts::interrupts, &CloudCounts::starts};
  ++(cloud_.counts.*kCounters[static_cast<int>(kind)]);
  if (!trip.real) return trip;
  trip.fault = Draw(kind);
  const int64_t both = prng_.Between(cloud_.latency_low, cloud_.latency_high);
  trip.back = both / 2;
  scheduler_.Sleep(both - trip.back);
  // The way was cut meanwhile.
  if (Cut() && trip.fault != Fault::kRefused) trip.fault = Fault::kUnheard;
  return trip;
}

// What is told of a request that has arrived and has no effect. Some throttling says how long to
// wait.
std::optional<Refusal> CloudClient::RefusalOf(const Trip& trip) {
  const auto no = [](RefusalClass what, RefusalScope scope, const char* words, Duration wait = {}) {
    return Refusal{what, scope, wait, {}, false, words};
  };
  const Duration told = Duration::Seconds(trip.back % 3 == 0 ? 5 + trip.back % 20 : 0);
  switch (trip.fault) {
    case Fault::kThrottled:
      return no(RefusalClass::kThrottled, RefusalScope::kAccount, "sim: RequestLimitExceeded",
                told);
    case Fault::kDenied:
      return no(RefusalClass::kDenied, RefusalScope::kAccount, "sim: UnauthorizedOperation");
    case Fault::kMalformed:
      return no(RefusalClass::kInvalid, RefusalScope::kRequest, "sim: ValidationError");
    case Fault::kNoSpace:
      return no(RefusalClass::kCapacity, RefusalScope::kZone, "sim: InsufficientInstanceCapacity");
    case Fault::kNoMarket:
      return no(RefusalClass::kCapacity, RefusalScope::kMarket, "sim: SpotMaxPriceTooLow");
    case Fault::kNoQuota:
      return no(RefusalClass::kQuota, RefusalScope::kRegion, "sim: MaxSpotInstanceCountExceeded");
    case Fault::kUnsettled:
      return no(RefusalClass::kNotYetConsistent, RefusalScope::kAccount,
                "sim: Invalid IAM Instance Profile name");
    default:
      return std::nullopt;
  }
}

Status CloudClient::Silence(const Trip& trip) {
  const int64_t wait = prng_.Between(trip.back, std::max(trip.back, cloud_.timeout_ms));
  scheduler_.Sleep(wait);
  return Status(Code::kTimeout, "sim: no answer");
}

Status CloudClient::Return(const Trip& trip) {
  if (!trip.real) return Status::Ok();
  if (trip.fault == Fault::kUnheard || trip.fault == Fault::kUnanswered) return Silence(trip);
  scheduler_.Sleep(trip.back);
  if (trip.fault == Fault::kRefused) {
    return Status(Code::kUnavailable, "sim: 503 Service Unavailable");
  }
  if (const auto refusal = RefusalOf(trip)) return LaunchAnswer(*refusal).status();
  if (Cut()) return Silence(trip);
  return Status::Ok();
}

Status CloudClient::Carry(const Trip& trip, Effect change) {
  const auto effect = [&cloud = cloud_, owner = owner_, change = std::move(change)] {
    cloud.asking_ = owner;
    return change();
  };
  if (trip.fault == Fault::kLate) {
    const int64_t wait = prng_.Between(trip.back, std::max(trip.back, cloud_.timeout_ms));
    const int64_t later = prng_.Between(1, std::max<int64_t>(1, cloud_.faults.late_ms));
    ++cloud_.on_their_way_;
    scheduler_.In(wait + later, [&cloud = cloud_, effect] {
      --cloud.on_their_way_;
      (void)effect();
    });
    scheduler_.Sleep(wait);
    return Status(Code::kTimeout, "sim: no answer");
  }
  const Status done = trip.arrives() ? effect() : Status::Ok();
  STOKER_TRY(Return(trip));
  return done;
}

Status CloudClient::Change(Kind kind, Effect effect) {
  STOKER_ASSIGN(const Trip trip, Send(kind));
  return Carry(trip, std::move(effect));
}

LaunchAnswer CloudClient::Launch(const LaunchRequest& request) {
  const bool in_time = cloud_.InTime(request);
  STOKER_ASSIGN(Trip trip, Send(Kind::kLaunch));
  if (trip.arrives() && cloud_.IsZoneAway(request.ask.place.zone)) trip.fault = Fault::kUnheard;
  // Who repeats a request gets what it has made: that takes no room.
  const auto known = cloud_.Known(request.token);
  const bool for_want = trip.fault == Fault::kNoSpace || trip.fault == Fault::kNoMarket ||
                        trip.fault == Fault::kNoQuota || trip.fault == Fault::kUnsettled;
  if (for_want && known && known->ok()) trip.fault = Fault::kNone;
  // Of the effect's own, which may outlive this call.
  const auto answer = std::make_shared<LaunchAnswer>(std::vector<std::string>());
  const Status carried =
      Carry(trip, [&cloud = cloud_, request, process = process_, in_time, answer] {
        *answer = cloud.Make(request, process, in_time);
        return Status::Ok();
      });
  if (carried.ok()) return *answer;
  const auto refusal = RefusalOf(trip);
  return refusal ? LaunchAnswer(*refusal) : LaunchAnswer(carried);
}

Result<InstancesSeen> CloudClient::Describe(const std::string& ledger_id, const std::string& job) {
  STOKER_ASSIGN(const Trip trip, Send(Kind::kDescribe));
  InstancesSeen seen;
  if (trip.arrives()) seen = cloud_.Show(provider_, ledger_id, job, trip.real);
  STOKER_TRY(Return(trip));
  return seen;
}

Status CloudClient::Terminate(const std::string& instance_id) {
  return Change(Kind::kTerminate, [&cloud = cloud_, instance_id, process = process_] {
    return cloud.Finish(instance_id, process);
  });
}

StartAnswer CloudClient::Start(const std::string& instance_id) {
  const auto trip = Send(Kind::kStart);
  if (!trip.ok()) return trip.status();
  const auto answer = std::make_shared<StartAnswer>(Status::Ok());
  const Status carried = Carry(*trip, [&cloud = cloud_, instance_id, process = process_, answer] {
    *answer = cloud.GivePower(instance_id, process);
    return Status::Ok();
  });
  if (carried.ok()) return *answer;
  const auto refusal = RefusalOf(*trip);
  return refusal ? StartAnswer(*refusal) : StartAnswer(carried);
}

Status CloudClient::Interrupt(const std::string& instance_id, Duration lead) {
  return Change(Kind::kInterrupt,
                [&cloud = cloud_, instance_id, lead] { return cloud.Warn(instance_id, lead); });
}

Result<std::optional<BootFailure>> CloudClient::WhyNotBooted(const std::string& instance_id,
                                                             const Ask&) {
  // What is kept nowhere is not asked for: draws of old seeds stay what they are.
  const CloudMachine* const machine = cloud_.Find(instance_id);
  if (machine == nullptr || !machine->boot_failure) return std::optional<BootFailure>();
  STOKER_ASSIGN(const Trip trip, Send(Kind::kDescribe));
  const std::optional<BootFailure> why = machine->boot_failure;
  STOKER_TRY(Return(trip));
  return why;
}

CloudClients::CloudClients(Cloud& cloud, Scheduler& scheduler, Prng& prng, std::string process,
                           Link* link, int owner)
    : cloud_(cloud),
      scheduler_(scheduler),
      prng_(prng),
      process_(std::move(process)),
      link_(link),
      owner_(owner) {}

Result<Provider*> CloudClients::Find(const std::string& provider) {
  std::string name;
  bool known = false;
  for (const Zone& zone : cloud_.zones) {
    known |= zone.provider.empty() || zone.provider == provider;
    if (zone.provider == provider) name = provider;
  }
  if (!known) return Status(Code::kInvalid, "sim: there is no provider " + Printable(provider));
  auto& client = clients_[name];
  if (!client) {
    client =
        std::make_unique<CloudClient>(cloud_, scheduler_, prng_, process_, link_, name, owner_);
  }
  return client.get();
}

}  // namespace stoker::sim

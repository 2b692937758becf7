// SPDX-License-Identifier: Apache-2.0
#include "sim/people/away.h"

#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "controller/away/away_look.h"

namespace stoker::sim {
namespace {

constexpr int64_t kCallTime = 120'000;  // then whatever still runs is ended
constexpr int64_t kRepeatAfter = 60'000;
constexpr int kMostRepeats = 2;
constexpr char kAnywhere[] = "anywhere";  // where a request leaves the zone open
constexpr char kIdentity[] = "node";

// What there is to be asked beside machines: what is swept.
class SimBroker : public Broker {
 public:
  SimBroker(Session& session, std::string name) : session_(session), name_(std::move(name)) {
    traits_.name = name_.c_str();
    traits_.title = "the cloud";
    traits_.machines = "machines of the cloud";
    traits_.rents = true;
  }
  const BrokerTraits& traits() const override { return traits_; }
  Result<Provider*> Machines() override { return session_.clouds.Find(name_); }
  Result<std::vector<Offer>> Resolve(const OfferAsk&) override {
    return Status(Code::kInvalid, "sim: a function submits no job");
  }
  Result<Holdings> List(const LedgerRef&, const std::string& id, bool) override {
    STOKER_ASSIGN(Provider * machines, Machines());
    STOKER_ASSIGN(const InstancesSeen seen, machines->Describe(id, ""));
    Holdings found;
    found.now = session_.world.cloud().Now();
    // Nothing of a scheduler's is swept.
    if (!machines->traits().ends_one_alone) return found;
    for (const Unheard& place : seen.unheard) found.troubles.push_back(place.why.ToString());
    for (const InstanceSeen& one : seen) {
      if (one.ledger_id == id && one.state != InstanceState::kGone) found.all.push_back(Of(one));
    }
    return found;
  }
  Status End(const Holding& holding) override {
    STOKER_ASSIGN(Provider * machines, Machines());
    return machines->Terminate(holding.id);
  }

 private:
  static Holding Of(const InstanceSeen& seen) {
    Holding holding;
    holding.id = seen.id;
    holding.place = seen.place;
    holding.job = seen.job;
    holding.token = seen.token;
    holding.index = seen.index;
    holding.expires = seen.expires;
    return holding;
  }

  Session& session_;
  const std::string name_;
  BrokerTraits traits_{};
};

int64_t UsualPrice(const Plan& plan, const std::string& zone) {
  for (const Zone& one : plan.zones) {
    if (one.name == zone) return one.price;
  }
  return 0;
}

Bound BoundOf(const Plan& plan, const ControllerPlan& of) {
  Bound bound;
  bound.regions = {kAnywhere};
  for (const Zone& zone : plan.zones) bound.regions.push_back(zone.name);
  bound.types = {kUsualType};
  bound.machines = of.machines;
  bound.price = of.price > 0 ? of.price : std::numeric_limits<int64_t>::max();
  bound.unknown_prices = of.price == 0;
  bound.identity = kIdentity;
  return bound;
}

AskedMachine AskedOf(const Plan& plan, const Ask& ask) {
  AskedMachine asked;
  asked.region = ask.place.zone.empty() ? kAnywhere : ask.place.zone;
  asked.type = ask.type.empty() ? kUsualType : ask.type;
  asked.identity = kIdentity;
  const int64_t usual = UsualPrice(plan, ask.place.zone);
  if (usual > 0) asked.price = usual;
  if (ask.ceiling) asked.price = std::min(asked.price.value_or(*ask.ceiling), *ask.ceiling);
  return asked;
}

class Function : public Observer {
 public:
  Function(World& world, const ControllerPlan& plan, const std::vector<Actor*>& servers)
      : world_(world), plan_(plan), servers_(servers.size()) {
    for (size_t i = 0; i < servers.size(); ++i) {
      Server& server = servers_[i];
      server.actor = servers[i];
      server.actor->killed = [this, &server] { Over(server, false); };
    }
    world_.scheduler().At(plan_.begin, [this] { Tick(1); });
  }

  void OnBooted(const CloudMachine& machine) override { Happens(machine); }
  void OnMachineStopped(const CloudMachine& machine) override { Happens(machine); }
  void OnMachineEnded(const CloudMachine& machine) override { Happens(machine); }
  void OnNoticed(const CloudMachine& machine) override { Happens(machine); }
  void OnElsewhere(const CloudMachine& machine) override { Happens(machine); }

 private:
  struct Call {
    std::string id;
    std::string instance;
    int tries = 0;
  };
  struct Server {
    Actor* actor = nullptr;
    std::optional<Call> call;  // that it serves
    int64_t calls = 0;
  };

  bool IsThere() const { return plan_.end < 0 || world_.now() < plan_.end; }
  // Whether what happens so often does, now: nothing of that after the calm.
  bool Draws(int rate) {
    if (rate <= 0) return false;
    const bool hits = world_.rng().Below(1000) < static_cast<uint64_t>(rate);
    return hits && !world_.calm();
  }

  void Tick(int64_t number) {
    if (!IsThere()) return;
    const bool missing = Draws(plan_.missing);
    const int64_t late = plan_.late > 0 ? world_.rng().Between(0, plan_.late) : 0;
    if (!missing) Comes({"tick " + std::to_string(number), "", 0}, world_.calm() ? 0 : late);
    world_.scheduler().In(plan_.period, [this, number] { Tick(number + 1); });
  }

  void Happens(const CloudMachine& machine) {
    if (world_.now() < plan_.begin || !IsThere() || Draws(plan_.lost)) return;
    const int64_t delay = world_.rng().Between(200, 5'000);
    Comes({"event " + std::to_string(++events_), machine.id, 0}, delay);
  }

  // Of what comes twice some is the same call, some another one.
  void Comes(Call call, int64_t delay) {
    world_.scheduler().In(delay, [this, call] { Serve(call); });
    if (!Draws(plan_.doubled)) return;
    const bool same = world_.rng().Chance(1, 2);
    const int64_t apart = world_.rng().Between(0, 2'000);
    if (!same) call.id += " again";
    world_.scheduler().In(delay + apart, [this, call] { Serve(call); });
  }

  void Serve(const Call& call) {
    for (Server& server : servers_) {
      if (server.call || server.actor->running()) continue;
      server.call = call;
      const int64_t number = ++server.calls;
      const auto body = [this, &server, call](Session& session) {
        Over(server, Look(session, call).ok());
      };
      server.actor->Once(world_.now(), body, false);
      world_.scheduler().In(kCallTime, [&server, number] {
        if (server.call && server.calls == number) server.actor->Kill(0);
      });
      return;
    }
    world_.scheduler().In(1'000, [this, call] { Serve(call); });
  }

  void Over(Server& server, bool ok) {
    if (!server.call) return;
    Call call = *server.call;
    server.call.reset();
    if (ok || world_.finished() || call.tries >= kMostRepeats) return;
    ++call.tries;
    world_.scheduler().In(kRepeatAfter * call.tries, [this, call] { Serve(call); });
  }

  Result<AwayReport> Look(Session& session, const Call& call) {
    SimBroker broker(session, ProviderName());
    AwayCall away;
    away.id = call.id;
    away.instance = call.instance;
    away.version = "sim";
    away.bound = BoundOf(world_.plan(), plan_);
    away.understand = [this](const Ask& ask) -> Result<AskedMachine> {
      return AskedOf(world_.plan(), ask);
    };
    const int64_t until = world_.now() + kCallTime;
    away.left = [this, until] { return Duration::Ms(until - world_.now()); };
    auto report = LookAway(*session.ledger, broker, session.clock, away);
    world_.Tell(session.process.name(),
                call.id + ": " + (report.ok() ? Told(*report) : report.status().ToString()));
    return report;
  }

  // Of several the first: it may ask no other.
  std::string ProviderName() const {
    const std::string& named = world_.plan().zones.front().provider;
    return named.empty() ? kLocalProvider : named;
  }

  World& world_;
  const ControllerPlan plan_;
  std::vector<Server> servers_;
  int64_t events_ = 0;
};

}  // namespace

void AddFunction(World& world, const ControllerPlan& plan, const std::vector<Actor*>& servers) {
  world.Employ(std::make_unique<Function>(world, plan, servers));
}

}  // namespace stoker::sim

// SPDX-License-Identifier: Apache-2.0
#include "controller/away/bound_provider.h"

#include <set>
#include <utility>

#include "base/text.h"

namespace stoker {
namespace {

Refusal Denied(const Status& why) {
  Refusal refusal;
  refusal.what = RefusalClass::kDenied;
  refusal.scope = RefusalScope::kRequest;
  refusal.message = why.ToString();
  return refusal;
}

bool HasPower(const InstanceSeen& machine) {
  return machine.state != InstanceState::kGone && machine.state != InstanceState::kStopped;
}

// Of a request: a provider answers it again with the same machines only there, by the same token.
std::string KeyOf(const std::string& job, const Place& place, const std::string& token) {
  return job + " " + place.region + "/" + place.zone + " " + token;
}

// Those of requests that the machine may have come from: one may have left the zone open.
std::set<std::string> KeysOf(const InstanceSeen& machine) {
  Place anywhere = machine.place;
  anywhere.zone.clear();
  return {KeyOf(machine.job, machine.place, machine.token),
          KeyOf(machine.job, anywhere, machine.token)};
}

class BoundProvider : public Provider {
 public:
  BoundProvider(Provider& inner, std::string ledger_id, BoundUse use)
      : inner_(inner), ledger_id_(std::move(ledger_id)), use_(std::move(use)) {}

  const ProviderTraits& traits() const override { return inner_.traits(); }

  LaunchAnswer Launch(const LaunchRequest& request) override {
    const auto more = static_cast<int>(request.launches.size());
    const auto asked = use_.understand(request.ask);
    if (!asked.ok()) return Denied(asked.status());
    if (request.store_url != use_.store_url) {
      return Denied(Status(Code::kDenied, "the reconciler away starts no machine that opens " +
                                              Printable(request.store_url) + ": its store is " +
                                              use_.store_url));
    }
    // What no count of machines could allow need not be counted.
    const Status alone = Within(use_.bound, *asked, more, 0);
    if (!alone.ok()) return Denied(alone);
    const std::string key = KeyOf(request.job, request.ask.place, request.token);
    STOKER_ASSIGN(const int there, MachinesBut(key));
    const Status within = Within(use_.bound, *asked, more, there);
    if (!within.ok()) return Denied(within);
    STOKER_TRY(use_.keep(key, more));
    return inner_.Launch(request);
  }

  Result<InstancesSeen> Describe(const std::string& ledger_id, const std::string& job) override {
    return inner_.Describe(ledger_id, job);
  }
  void Expect(const std::vector<InstanceMet>& met) override { inner_.Expect(met); }
  Status Terminate(const std::string& id) override { return inner_.Terminate(id); }

  // Which type it is of is not known here: what the reconciler may start is a matter of the rights
  // that it was given, and that it is one more machine counts.
  StartAnswer Start(const std::string& id) override {
    STOKER_ASSIGN(const int there, MachinesBut(""));
    if (there + 1 > use_.bound.machines) {
      return Denied(Status(Code::kDenied, "beyond what the reconciler away may have at once: " +
                                              std::to_string(use_.bound.machines) + " machines"));
    }
    STOKER_TRY(use_.keep(id, 1));
    return inner_.Start(id);
  }
  Result<std::optional<BootFailure>> WhyNotBooted(const std::string& id, const Ask& ask) override {
    return inner_.WhyNotBooted(id, ask);
  }
  Status Interrupt(const std::string& id, Duration) override {
    return Status(Code::kInvalid, "the reconciler away interrupts nothing: " + Printable(id));
  }

 private:
  // Of the ledger, but those of the request `key`: to send it again makes none more. Machines of
  // its token in another place or job are others. An error where a place does not answer: what is
  // there is not known.
  Result<int> MachinesBut(const std::string& key) {
    STOKER_ASSIGN(const InstancesSeen seen, inner_.Describe(ledger_id_, ""));
    STOKER_TRY(seen.Whole());
    std::set<std::string> listed;
    int there = 0;
    for (const InstanceSeen& machine : seen) {
      const std::set<std::string> keys = KeysOf(machine);
      listed.insert(keys.begin(), keys.end());
      // What was started a moment ago may still be listed as stopped.
      if (HasPower(machine)) listed.insert(machine.id);
      if (!keys.contains(key) && HasPower(machine)) ++there;
    }
    for (const AwayAsked& before : use_.asked_before()) {
      if (before.what != key && !listed.contains(before.what)) there += before.machines;
    }
    return there;
  }

  Provider& inner_;
  const std::string ledger_id_;
  const BoundUse use_;
};

}  // namespace

std::unique_ptr<Provider> BindProvider(Provider& inner, const std::string& ledger_id,
                                       BoundUse use) {
  return std::make_unique<BoundProvider>(inner, ledger_id, std::move(use));
}

}  // namespace stoker

// SPDX-License-Identifier: Apache-2.0
#include "controller/away/bound_provider.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/deliberate_bug.h"
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

// Those of requests that the machine may have come from: one may have left the zone open.
std::set<std::string> KeysOf(const InstanceSeen& machine) {
  Place anywhere = machine.place;
  anywhere.zone.clear();
  return {AskedKey(machine.job, machine.place, machine.token),
          AskedKey(machine.job, anywhere, machine.token)};
}

// What is known of machines that lists do not show, by the key of their request.
class Unlisted {
 public:
  // Gone or not: of such a one nothing more is to come.
  void Lists(const InstanceSeen& machine) {
    for (const std::string& key : KeysOf(machine)) listed_[key].insert(machine.index);
    // What was started a moment ago may still be listed as stopped.
    if (HasPower(machine)) listed_[machine.id].insert(0);
  }
  void Asked(const AwayAsked& asked) {
    const auto known = static_cast<int>(listed_[asked.what].size());
    int& count = unlisted_[asked.what];
    count = std::max(count, asked.machines - known);
  }
  void Recorded(const std::vector<AwayRecorded>& all) {
    std::map<std::string, int> counts;
    for (const AwayRecorded& one : all) {
      if (!listed_[one.what].contains(one.index)) ++counts[one.what];
    }
    for (const auto& [what, count] : counts) unlisted_[what] = std::max(unlisted_[what], count);
  }
  int CountBut(const std::string& key) const {
    int sum = 0;
    for (const auto& [what, count] : unlisted_) sum += what == key ? 0 : count;
    return sum;
  }

 private:
  std::map<std::string, std::set<int>> listed_;  // indexes
  std::map<std::string, int> unlisted_;
};

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
    const Status brief = Ends(request.limit, request.not_after, use_.now());
    if (!brief.ok()) return Denied(brief);
    const Status alone = Within(use_.bound, *asked, more, 0);
    if (!alone.ok()) return Denied(alone);
    const std::string key = AskedKey(request.job, request.ask.place, request.token);
    STOKER_ASSIGN(const int there, MachinesBut(key));
    const Status within = Within(use_.bound, *asked, more, there);
    if (!within.ok() && !BugIsOn("away-uncounted")) return Denied(within);
    return Send(request, key);
  }

  Result<InstancesSeen> Describe(const std::string& ledger_id, const std::string& job) override {
    return inner_.Describe(ledger_id, job);
  }
  void Expect(const std::vector<InstanceMet>& met) override { inner_.Expect(met); }
  Status Terminate(const std::string& id) override {
    return BugIsOn("away-ends-nothing") ? Status::Ok() : inner_.Terminate(id);
  }

  // Somebody else has made it: of a type that this may not ask for, it may be.
  StartAnswer Start(const std::string& id) override {
    std::string type;
    STOKER_ASSIGN(const int there, MachinesBut(id, &type));
    const Status within = MayStart(use_.bound, type, there);
    if (!within.ok()) return Denied(within);
    const bool again = WasAsked(id);
    STOKER_TRY(use_.keep(id, 1));
    StartAnswer answer = inner_.Start(id);
    if (answer.refusal() && !again) use_.drop(id);
    return answer;
  }
  Result<std::optional<BootFailure>> WhyNotBooted(const std::string& id, const Ask& ask) override {
    return inner_.WhyNotBooted(id, ask);
  }
  Status Interrupt(const std::string& id, Duration) override {
    return Status(Code::kInvalid, "the reconciler away interrupts nothing: " + Printable(id));
  }

 private:
  // Of the ledger, but those of `key`, a request or a machine that is started: to send it again
  // makes none more. Machines of a request's token in another place or job are others. An error
  // where a place does not answer: what is there is not known. `type`: of that machine, "" where no
  // list shows it.
  Result<int> MachinesBut(const std::string& key, std::string* type = nullptr) {
    STOKER_ASSIGN(const InstancesSeen seen, inner_.Describe(ledger_id_, ""));
    STOKER_TRY(seen.Whole());
    Unlisted unlisted;
    int there = 0;
    for (const InstanceSeen& machine : seen) {
      if (machine.ledger_id != ledger_id_) continue;
      unlisted.Lists(machine);
      if (type != nullptr && machine.id == key) *type = machine.type;
      if (!KeysOf(machine).contains(key) && HasPower(machine)) ++there;
    }
    if (BugIsOn("away-lists-are-all")) return there;
    for (const AwayAsked& before : use_.asked_before()) unlisted.Asked(before);
    if (use_.recorded) {
      STOKER_ASSIGN(const auto recorded, use_.recorded());
      unlisted.Recorded(recorded);
    }
    return there + unlisted.CountBut(key);
  }

  bool WasAsked(const std::string& what) const {
    const auto asked = use_.asked_before();
    return std::any_of(asked.begin(), asked.end(),
                       [&](const AwayAsked& one) { return one.what == what; });
  }

  LaunchAnswer Send(LaunchRequest request, const std::string& key) {
    const bool again = WasAsked(key);
    STOKER_TRY(use_.keep(key, static_cast<int>(request.launches.size())));
    if (BugIsOn("away-longer-lease")) request.limit = request.limit * 2;
    LaunchAnswer answer = inner_.Launch(request);
    // An earlier try of it may still be on its way.
    if (answer.refusal() && !again) use_.drop(key);
    return answer;
  }

  Provider& inner_;
  const std::string ledger_id_;
  const BoundUse use_;
};

}  // namespace

std::string AskedKey(const std::string& job, const Place& place, const std::string& token) {
  return job + " " + place.region + "/" + place.zone + " " + token;
}

std::unique_ptr<Provider> BindProvider(Provider& inner, const std::string& ledger_id,
                                       BoundUse use) {
  return std::make_unique<BoundProvider>(inner, ledger_id, std::move(use));
}

}  // namespace stoker

// SPDX-License-Identifier: Apache-2.0
// The simulated cloud keeps the contract of the provider port, and one that lies does not.
#include <gtest/gtest.h>

#include <memory>

#include "base/text.h"
#include "sim/cloud/cloud.h"
#include "test/contract/provider_suite.h"

namespace stoker::sim {
namespace {

using contract_test::ProviderCase;
using contract_test::ProviderCases;
using contract_test::ProviderSubject;

// What a provider may do wrong.
enum class Lie {
  kNone,
  kForgetsTokens,    // makes another machine for a token that it has seen
  kRevives,          // starts a machine that has ended once more, under another id
  kListsEverything,  // of all ledgers
  kLeavesOut,        // never lists some machine
  kEndsNothing,      // says that it has ended what it has not
  kGivesAPart,       // as many machines of a gang as there is room for
  kEndsAGang,        // with one machine, all that came with it
  kMixesUp,          // does not say which machine of a gang one is
  kStoppedIsGone,    // lists what is off as gone, and freed
  kStartsAnother,    // makes a second machine where one is to come up again
  kStartsNothing,    // says that it has started what stays off
  kRaisesTheDead,    // says that it has started what is gone
  kQueuedBoots,      // lists what queues as booting
  kQueuedCounts,     // counts the time in the queue as time that a machine was up
  kAllIsCapacity,    // says that there is no room, whatever the reason
  kAllIsAccount,     // says of whatever is refused that it holds for the account
  kSaysNoWait,       // keeps to itself how long to wait
  kNoIsSilence,      // says that nobody knows, instead of no
  kDiesSilently,     // does not say of what a machine died before it was up
  kEachIsBornDead,   // says of each end that it was a refusal
  kNumber,
};

class Liar : public Provider {
 public:
  Liar(Provider& inner, Lie lie) : inner_(inner), lie_(lie) {}
  const ProviderTraits& traits() const override { return inner_.traits(); }
  LaunchAnswer Launch(const LaunchRequest& request) override {
    LaunchAnswer answer = Ask(request);
    if (!answer.refusal()) return answer;
    Refusal told = *answer.refusal();
    if (lie_ == Lie::kAllIsCapacity) told.what = RefusalClass::kCapacity;
    if (lie_ == Lie::kAllIsAccount) told.scope = RefusalScope::kAccount;
    if (lie_ == Lie::kSaysNoWait) told.wait = {};
    if (lie_ == Lie::kNoIsSilence) return answer.status();
    return told;
  }
  LaunchAnswer Ask(const LaunchRequest& request) {
    LaunchRequest sent = request;
    last_ = request;
    const int before = asked_[request.token]++;
    if (lie_ == Lie::kForgetsTokens && before > 0) sent.token += "x" + std::to_string(before);
    auto ids = inner_.Launch(sent);
    if (lie_ == Lie::kRevives && ids.code() == Code::kNotFound && before > 0) {
      sent.token += "again";
      ids = inner_.Launch(sent);
    }
    while (lie_ == Lie::kGivesAPart && ids.code() == Code::kNoSpace && sent.launches.size() > 1) {
      sent.launches.pop_back();
      ids = inner_.Launch(sent);
    }
    return ids;
  }
  Result<InstancesSeen> Describe(const std::string& ledger, const std::string& job) override {
    auto all = inner_.Describe(ledger, job);
    if (all.ok() && lie_ == Lie::kListsEverything && ledger == "ledger") {
      const auto others = inner_.Describe("other", "");
      if (others.ok()) all->insert(all->end(), others->begin(), others->end());
    }
    if (all.ok() && lie_ == Lie::kLeavesOut && !all->empty()) all->pop_back();
    for (size_t i = 0; all.ok() && i < all->size(); ++i) Distort(&(*all)[i]);
    return all;
  }
  Status Terminate(const std::string& id) override {
    if (lie_ == Lie::kEndsAGang) {
      std::string token;
      const auto all = inner_.Describe("ledger", "").value_or({});
      for (const InstanceSeen& seen : all) {
        if (seen.id == id) token = seen.token;
      }
      for (const InstanceSeen& seen : all) {
        if (seen.token == token) (void)inner_.Terminate(seen.id);
      }
    }
    return lie_ == Lie::kEndsNothing ? Status::Ok() : inner_.Terminate(id);
  }
  StartAnswer Start(const std::string& id) override {
    const Status started = lie_ == Lie::kStartsNothing ? Status::Ok() : inner_.Start(id);
    if (lie_ == Lie::kRaisesTheDead && started.Is(Code::kNotFound)) return Status::Ok();
    if (lie_ == Lie::kStartsAnother && last_) {
      last_->token += "-again";
      (void)inner_.Launch(*last_);
    }
    return started;
  }
  Status Interrupt(const std::string& id, Duration lead) override {
    return inner_.Interrupt(id, lead);
  }

 private:
  void Distort(InstanceSeen* seen) const {
    const bool queued = seen->state == InstanceState::kQueued;
    if (lie_ == Lie::kMixesUp) seen->index = 0;
    if (lie_ == Lie::kStoppedIsGone && seen->state == InstanceState::kStopped) {
      seen->state = InstanceState::kGone;
      seen->freed = true;
    }
    if (lie_ == Lie::kDiesSilently) seen->refusal.reset();
    if (lie_ == Lie::kEachIsBornDead && seen->state == InstanceState::kGone && !seen->refusal) {
      seen->refusal = Refusal{};
    }
    if (lie_ == Lie::kQueuedBoots && queued) seen->state = InstanceState::kBooting;
    if (lie_ == Lie::kQueuedCounts && !queued && seen->up_for) {
      seen->up_for = *seen->up_for + Duration::Minutes(20);
    }
  }

  Provider& inner_;
  std::optional<LaunchRequest> last_;
  const Lie lie_;
  std::map<std::string, int> asked_;
};

class SimulatedProvider : public ProviderSubject {
 public:
  explicit SimulatedProvider(Lie lie, bool ends_one_alone = true) : direct_(client_, lie) {
    cloud_.traits.ends_one_alone = ends_one_alone;
    cloud_.traits.may_stop = true;
    cloud_.traits.can_start = ends_one_alone;
    cloud_.faults.queue_ms = 86'400'000;
    cloud_.boot_low = cloud_.boot_high = 1'000;
    cloud_.booted = [](CloudMachine& machine) { machine.address = "10.0.0.1"; };
    cloud_.stopped = cloud_.ended = [](CloudMachine&) {};
  }
  ~SimulatedProvider() override { laptop_.Kill(); }
  Provider& provider() override { return direct_; }
  Provider& another() override { return direct_; }
  WallTime Now() override { return cloud_.Now(); }
  bool Until(const std::function<bool()>& there) override {
    const int64_t end = scheduler_.now() + 600'000;
    while (!there()) {
      if (scheduler_.now() >= end) return false;
      bool over = false;
      scheduler_.In(500, [&] { over = true; });
      while (!over) scheduler_.RunOne();
    }
    return true;
  }
  LaunchRequest Request(const std::string& name) override {
    LaunchRequest request;
    request.token = name;
    request.ledger_id = "ledger";
    request.job = "job";
    request.launches = {3};
    request.limit = Duration::Hours(24);
    return request;
  }
  LaunchRequest TooMuch(int machines) override {
    LaunchRequest request = Request("much");
    request.launches.resize(static_cast<size_t>(machines), 3);
    cloud_.quota = cloud_.Running() + machines - 1;
    return request;
  }
  bool Refuse(const std::optional<Refusal>& how) override {
    cloud_.refuses = how;
    return true;
  }
  bool Doom(const std::optional<Refusal>& how) override {
    cloud_.dooms = how;
    return true;
  }
  bool Stop(const std::string& id) override {
    cloud_.StopAndStart(id, -1);
    return true;
  }
  bool Queue(bool begin) override {
    cloud_.faults.queues = begin ? 1000 : 0;
    if (!begin) cloud_.EndQueue();
    return true;
  }
  // In fibers: each request has its way there and its way back.
  void AtOnce(const std::vector<std::function<void()>>& calls) override {
    size_t over = 0;
    for (const auto& call : calls) {
      laptop_.Spawn([&] {
        call();
        ++over;
      });
    }
    while (over < calls.size() && scheduler_.RunOne()) {
    }
  }

 private:
  Scheduler scheduler_;
  Prng prng_{7};
  Cloud cloud_{scheduler_, prng_};
  Process laptop_{scheduler_, "laptop"};
  CloudClient client_{cloud_, scheduler_, prng_, "laptop", nullptr};
  Liar direct_;
};

class ProviderContract : public testing::TestWithParam<ProviderCase> {};

TEST_P(ProviderContract, Simulated) {
  SimulatedProvider subject(Lie::kNone);
  EXPECT_EQ(Join(GetParam().run(subject), "\n"), "");
}

TEST_P(ProviderContract, SimulatedAndEndedTogether) {
  SimulatedProvider subject(Lie::kNone, false);
  EXPECT_EQ(Join(GetParam().run(subject), "\n"), "");
}

INSTANTIATE_TEST_SUITE_P(Cases, ProviderContract, testing::ValuesIn(ProviderCases()),
                         [](const auto& each) { return each.param.name; });

TEST(ProviderContractItself, EachLieIsFound) {
  for (int lie = 1; lie < static_cast<int>(Lie::kNumber); ++lie) {
    int failed = 0;
    for (const ProviderCase& each : ProviderCases()) {
      SimulatedProvider subject(static_cast<Lie>(lie));
      failed += !each.run(subject).empty();
    }
    EXPECT_GT(failed, 0) << "lie " << lie;
  }
}

}  // namespace
}  // namespace stoker::sim

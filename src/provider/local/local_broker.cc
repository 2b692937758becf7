// SPDX-License-Identifier: Apache-2.0
#include "provider/local/local_broker.h"

#include <utility>

#include "policy/local_queue.h"
#include "provider/local/local_boot.h"
#include "provider/local/local_engines.h"
#include "provider/local/local_state.h"
#include "sys/file.h"

namespace stoker {
namespace {

class ThisMachine : public LocalBroker {
 public:
  ThisMachine(std::string state_dir, AllocationGate gate, Clock& clock)
      : state_dir_(std::move(state_dir)), gate_(std::move(gate)), clock_(clock) {}

  const BrokerTraits& traits() const override { return kLocalBroker; }

  Result<LocalProvider*> Local() override {
    if (!local_) {
      LocalProviderOptions options;
      options.state_dir = state_dir_;
      options.gate = gate_;
      STOKER_ASSIGN(local_, MakeLocalProvider(options, clock_));
    }
    return local_.get();
  }

  Result<Provider*> Machines() override {
    STOKER_ASSIGN(LocalProvider * local, Local());
    return static_cast<Provider*>(local);
  }

  Result<std::vector<Offer>> Resolve(const OfferAsk& job) override {
    Offer offer;
    offer.ask.options = EncodeWants(WantsOf(job.spec, job.submitted));
    return std::vector<Offer>{offer};
  }

  std::vector<std::string> Words() override { return {kLocalProvider}; }

  Result<std::vector<PlaceInfo>> Places() override {
    STOKER_ASSIGN(LocalProvider * local, Local());
    return local->Places();
  }

  Status AddBinaries(std::set<std::string>* digests) override {
    const LocalState state(state_dir_);
    for (const std::string& token : state.Tokens()) {
      const auto boot = ReadLocalBoot(state.Dir(token));
      if (boot.status().Is(Code::kNotFound) && !sys::DirExists(state.Dir(token))) continue;
      if (!boot.ok()) return boot.status().WithContext("machine " + token + " may run any of them");
      digests->insert(boot->request.binary_digest);
      // By the path that it was started from, too: those of an older stoker may differ.
      const std::string folder = boot->binary.substr(0, boot->binary.rfind('/'));
      digests->insert(folder.substr(folder.rfind('/') + 1));
    }
    return Status::Ok();
  }

  std::vector<LeftOver> ClearOver(bool dry_run) override {
    const auto local = Local();
    if (!local.ok()) return {{"", local.status()}};
    auto over = dry_run ? (*local)->Leftovers() : (*local)->Sweep();
    if (!over.ok()) return {{"", over.status()}};
    for (std::string& one : SweepEngines(state_dir_, clock_.Wall(), dry_run)) {
      over->push_back(std::move(one));
    }
    return {{"", std::move(over)}};
  }

 private:
  const std::string state_dir_;
  const AllocationGate gate_;
  Clock& clock_;
  std::unique_ptr<LocalProvider> local_;
};

}  // namespace

std::unique_ptr<Broker> MakeLocalBroker(const ProviderOptions& options, AllocationGate gate,
                                        Clock& clock) {
  return std::make_unique<ThisMachine>(options.state_dir, std::move(gate), clock);
}

}  // namespace stoker

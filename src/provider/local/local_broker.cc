// SPDX-License-Identifier: Apache-2.0
#include "provider/local/local_broker.h"

#include <utility>

#include "policy/local_queue.h"

namespace stoker {
namespace {

class LocalBroker : public Broker {
 public:
  explicit LocalBroker(std::function<Result<LocalProvider*>()> machines)
      : machines_(std::move(machines)) {}

  const BrokerTraits& traits() const override { return kLocalBroker; }

  Result<Provider*> Machines() override {
    STOKER_ASSIGN(LocalProvider * local, machines_());
    return static_cast<Provider*>(local);
  }

  Result<std::vector<Offer>> Resolve(const OfferAsk& job) override {
    Offer offer;
    offer.ask.options = EncodeWants(WantsOf(job.spec, job.submitted));
    return std::vector<Offer>{offer};
  }

  std::vector<std::string> Words() override { return {kLocalProvider}; }

  Result<std::vector<PlaceInfo>> Places() override {
    STOKER_ASSIGN(LocalProvider * local, machines_());
    return local->Places();
  }

  std::vector<LeftOver> ClearOver(bool dry_run) override {
    const auto local = machines_();
    if (!local.ok()) return {{"", local.status()}};
    return {{"", dry_run ? (*local)->Leftovers() : (*local)->Sweep()}};
  }

 private:
  const std::function<Result<LocalProvider*>()> machines_;
};

}  // namespace

std::unique_ptr<Broker> MakeLocalBroker(std::function<Result<LocalProvider*>()> machines) {
  return std::make_unique<LocalBroker>(std::move(machines));
}

}  // namespace stoker

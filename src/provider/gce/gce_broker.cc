// SPDX-License-Identifier: Apache-2.0
#include "provider/gce/gce_broker.h"

#include <utility>

#include "ledger/places.h"
#include "provider/gce/gce_late.h"
#include "provider/gce/gce_offers.h"
#include "provider/gce/gce_rights.h"

namespace stoker {
namespace {

class GceBroker : public Broker {
 public:
  GceBroker(const ProviderOptions& options, Clock& clock,
            std::function<Result<std::shared_ptr<gce::ComputeApi>>()> api)
      : options_(options), clock_(clock), api_(std::move(api)) {}

  const BrokerTraits& traits() const override { return kGceBroker; }

  Result<Provider*> Machines() override {
    if (!options_.store) return Status(Code::kInvalid, "Compute Engine is not asked from here");
    if (!provider_) {
      STOKER_ASSIGN(auto api, api_());
      provider_ =
          MakeGceProvider(std::move(api), cloud::NotesIn(options_.store, kGceProvider, clock_));
    }
    return provider_.get();
  }

  Status Reach(const OfferAsk& ask) override { return CheckGceReach(ask); }

  Result<std::vector<Offer>> Resolve(const OfferAsk& ask) override {
    STOKER_ASSIGN(const GceWish wish, GceWishOf(ask, options_.settings, options_.say));
    STOKER_ASSIGN(const auto api, api_());
    return ResolveGce(*api, wish);
  }

  Status Complete(const LedgerRef& ledger, int64_t blob_period,
                  std::vector<Offer>* offers) override {
    // Whoever clears up looks where anything was made.
    for (const Offer& offer : *offers) {
      const Place& place = offer.ask.place;
      STOKER_TRY(NotePlace(*ledger.store, kGceProvider, GcePlace(place.account, place.zone)));
    }
    return CompleteGceOffers(blob_period, offers);
  }

  Result<bool> MayStillRefuse(const std::string& token) override {
    STOKER_ASSIGN(Provider * gce, Machines());
    return stoker::MayStillRefuse(*gce, token);
  }

  Result<Rights> AddRights(Rights rights, const std::string& store_url,
                           const std::string& /*where*/) override {
    return AddGceRights(std::move(rights), store_url);
  }

 private:
  const ProviderOptions options_;
  Clock& clock_;
  const std::function<Result<std::shared_ptr<gce::ComputeApi>>()> api_;
  std::unique_ptr<Provider> provider_;
};

}  // namespace

std::unique_ptr<Broker> MakeGceBroker(
    const ProviderOptions& options, Clock& clock,
    std::function<Result<std::shared_ptr<gce::ComputeApi>>()> api) {
  return std::make_unique<GceBroker>(options, clock, std::move(api));
}

}  // namespace stoker

// SPDX-License-Identifier: Apache-2.0
#include "provider/gce/broker/gce_broker.h"

#include <unistd.h>

#include <utility>

#include "ledger/places.h"
#include "provider/cloud/ssh_words.h"
#include "provider/gce/broker/gce_doctor.h"
#include "provider/gce/broker/gce_trials.h"
#include "provider/gce/gce_holdings.h"
#include "provider/gce/gce_late.h"
#include "provider/gce/gce_offers.h"
#include "provider/gce/gce_rights.h"
#include "store/rights.h"
#include "vault/kept.h"

namespace stoker {
namespace {

class GceBroker : public Broker {
 public:
  GceBroker(const ProviderOptions& options, Clock& clock) : options_(options), clock_(clock) {}

  const BrokerTraits& traits() const override { return kGceBroker; }

  Result<Provider*> Machines() override {
    if (!options_.store) return Status(Code::kInvalid, "Compute Engine is not asked from here");
    if (!provider_) {
      STOKER_ASSIGN(auto api, Api());
      provider_ = MakeGceProvider(
          std::move(api), cloud::NotesIn(options_.store, kGceProvider, clock_, options_.places));
    }
    return provider_.get();
  }

  Status Reach(const OfferAsk& ask) override { return CheckGceReach(ask); }

  Result<std::vector<Offer>> Resolve(const OfferAsk& ask) override {
    STOKER_ASSIGN(const GceWish wish, GceWishOf(ask, options_.settings, options_.say));
    STOKER_ASSIGN(const auto api, Api());
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

  // Google's own program knows how: a key in the project's or the machine's metadata, and a tunnel.
  Result<Shell> Enter(const ShellAsk& ask) override {
    const std::string who = ask.user_given ? ask.user + "@" : "";
    Shell shell{{"gcloud", "compute", "ssh", who + ask.instance_id, "--project", ask.place.account,
                 "--zone", ask.place.zone, "--tunnel-through-iap"}};
    const std::string command = ask.inside ? cloud::InsideLine(ask.command) : ask.command;
    if (!command.empty()) shell.words.push_back("--command=" + command);
    if (ask.inside && isatty(STDIN_FILENO) != 0) {
      shell.words.insert(shell.words.end(), {"--", "-t"});
    }
    shell.inside = ask.inside;
    return shell;
  }

  // Of a place alone, without a job; store and settings are looked at beside it.
  Result<Findings> Examine(const std::string& where, const Result<LedgerRef>&) override {
    OfferAsk ask;
    ask.where = where;
    STOKER_ASSIGN(const GceWish wish, GceWishOf(ask, options_.settings, [](const std::string&) {}));
    STOKER_ASSIGN(const auto api, Api());
    Findings out{ExamineGce(*api, wish)};
    if (wish.project.empty()) return out;  // which is said
    const std::string& store = options_.settings.store;
    auto rights = RightsFor(store, "");
    if (rights.ok()) rights = AddRights(std::move(*rights), store, where);
    if (!rights.ok()) {
      out.all.push_back({"rights", "note", "not looked at: " + rights.status().ToString()});
      return out;
    }
    const std::string account =
        wish.service_account.empty() ? UsualServiceAccount(wish.project) : wish.service_account;
    for (Finding& each :
         TellGceRights(MakeServiceApi, wish.project, account, wish.external_ip, *rights)) {
      out.all.push_back(std::move(each));
    }
    return out;
  }

  Result<Rights> AddRights(Rights rights, const std::string& store_url,
                           const std::string& /*where*/) override {
    return AddGceRights(std::move(rights), store_url, options_.settings.Of(kGcpProject),
                        options_.settings.Of(kGcpServiceAccount));
  }

  Result<Holdings> List(const LedgerRef& ledger, const std::string& id,
                        bool /*everywhere*/) override {
    STOKER_ASSIGN(auto places, NotedPlaces(*ledger.store, kGceProvider));
    places = cloud::AllPlaces(places, options_.places);
    if (places.empty()) return Holdings();
    STOKER_ASSIGN(const auto api, Api());
    STOKER_ASSIGN(Holdings out, ListGceHoldings(*api, places, id));
    AddKeptSecrets(ledger, id, kGceBroker, &out);
    return out;
  }

  Status End(const Holding& holding) override {
    if (holding.kind == HoldingKind::kSecret) return EndKeptSecret(kGceBroker, holding);
    if (holding.kind == HoldingKind::kMachine) {
      STOKER_ASSIGN(Provider * gce, Machines());
      return gce->Terminate(holding.id);
    }
    STOKER_ASSIGN(const auto api, Api());
    return EndGcePolicy(*api, holding);
  }

 private:
  // The same each time.
  Result<std::shared_ptr<gce::ComputeApi>> Api() {
    if (!api_) {
      STOKER_ASSIGN(api_, MakeComputeApi());
    }
    return api_;
  }

  const ProviderOptions options_;
  Clock& clock_;
  std::shared_ptr<gce::ComputeApi> api_;
  std::unique_ptr<Provider> provider_;
};

}  // namespace

std::unique_ptr<Broker> MakeGceBroker(const ProviderOptions& options, Clock& clock) {
  return std::make_unique<GceBroker>(options, clock);
}

}  // namespace stoker

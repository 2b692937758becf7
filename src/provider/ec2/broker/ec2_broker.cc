// SPDX-License-Identifier: Apache-2.0
#include "provider/ec2/broker/ec2_broker.h"

#include <utility>

#include "aws/account/account.h"
#include "aws/config.h"
#include "ledger/places.h"
#include "provider/ec2/api/aws_api.h"
#include "provider/ec2/api/ec2_role.h"
#include "provider/ec2/broker/ec2_rights.h"
#include "provider/ec2/broker/ec2_trials.h"
#include "provider/ec2/ec2_holdings.h"
#include "provider/ec2/ec2_offers.h"
#include "provider/ec2/ec2_shell.h"
#include "spec/places/ec2/section.h"
#include "store/rights.h"
#include "sys/folder_cache.h"
#include "vault/kept.h"

namespace stoker {
namespace {

class Ec2Broker : public Broker {
 public:
  Ec2Broker(const ProviderOptions& options, Clock& clock) : options_(options), clock_(clock) {}

  const BrokerTraits& traits() const override { return kEc2Broker; }

  Result<Provider*> Machines() override {
    if (!options_.store) return Status(Code::kInvalid, "EC2 is not asked from here");
    if (!provider_) {
      STOKER_ASSIGN(auto api, Api());
      provider_ = MakeEc2Provider(
          std::move(api), cloud::NotesIn(options_.store, kEc2Provider, clock_, options_.places));
    }
    return provider_.get();
  }

  Status Reach(const OfferAsk& ask) override { return CheckEc2Reach(ask, options_.settings); }

  Result<std::vector<Offer>> Resolve(const OfferAsk& ask) override {
    STOKER_ASSIGN(const Ec2Wish wish, Ec2WishOf(ask, options_.settings, options_.say));
    STOKER_ASSIGN(const auto api, Api());
    return ResolveEc2(*api, wish);
  }

  Status Complete(const LedgerRef& ledger, int64_t blob_period,
                  std::vector<Offer>* offers) override {
    STOKER_ASSIGN(const auto api, Api());
    // Whoever clears up looks where anything was made.
    STOKER_TRY(NotePlace(*ledger.store, kEc2Provider, offers->front().ask.place.region));
    return CompleteEc2Offers(*api, ledger.id, blob_period, offers);
  }

  Result<Shell> Enter(const ShellAsk& ask) override {
    STOKER_ASSIGN(const auto api, Api());
    return EnterEc2(api, ask, options_.say);
  }

  // What it allows whoever asks, in that region.
  Result<Findings> Examine(const std::string& where, const Result<LedgerRef>& ledger) override {
    STOKER_ASSIGN(const auto api, Api());
    STOKER_ASSIGN(const AwsAccount account, FindAwsAccount());
    // Before the first job there is no ledger, and nothing of it there.
    const std::string id = ledger.ok() ? ledger->id : "trial";
    const std::string region = where.empty() ? AwsRegion(account.outside, account.config) : where;
    Findings out{TellRights(TryEc2Rights(*api, region, id, Profile()), region), true};
    const std::string store = ledger.ok() ? ledger->store->url() : options_.settings.store;
    out.all.push_back(TellRole(*api, region, Profile(), store));
    std::vector<std::string> topics;
    for (const NotifySpec& to : options_.settings.notify) {
      if (to.kind == "sns") topics.push_back(to.to);
    }
    auto rights = RightsFor(store, RegionOfRights(store));
    if (rights.ok()) rights = AddRights(std::move(*rights), store, region);
    if (!rights.ok()) {
      out.all.push_back({"other rights", "note", "not looked at: " + rights.status().ToString()});
      return out;
    }
    for (Finding& finding : TellOtherRights(*api, region, Profile(), *rights, topics)) {
      out.all.push_back(std::move(finding));
    }
    return out;
  }

  Result<Rights> AddRights(Rights rights, const std::string& store_url,
                           const std::string& where) override {
    return AddEc2Rights(std::move(rights), store_url, where, Profile());
  }

  Result<Holdings> List(const LedgerRef& ledger, const std::string& id, bool everywhere) override {
    Holdings out;
    STOKER_ASSIGN(out.regions, Regions(ledger, everywhere));
    if (out.regions.empty()) return out;
    STOKER_ASSIGN(const auto api, Api());
    for (const std::string& region : out.regions) {
      auto found = Ec2Holdings(*api, region, id, &out.troubles);
      if (!found.ok()) {
        out.troubles.push_back(found.status().ToString());
        continue;
      }
      out.now = Ec2Now(*api);
      for (Holding& one : *found) out.all.push_back(std::move(one));
    }
    AddKeptSecrets(ledger, id, kEc2Broker, &out);
    return out;
  }

  Status End(const Holding& holding) override {
    if (holding.kind == HoldingKind::kSecret) return EndKeptSecret(kEc2Broker, holding);
    STOKER_ASSIGN(const auto api, Api());
    return EndEc2Holding(*api, holding);
  }

 private:
  // The same each time.
  Result<std::shared_ptr<ec2::AwsApi>> Api() {
    if (!api_) {
      std::shared_ptr<Cache> memory;
      if (!options_.cache_dir.empty()) memory = sys::MakeFolderCache(options_.cache_dir + "/aws");
      STOKER_ASSIGN(api_, MakeAwsApi(std::move(memory)));
    }
    return api_;
  }

  Result<std::vector<std::string>> Regions(const LedgerRef& ledger, bool everywhere) {
    STOKER_ASSIGN(auto noted, NotedPlaces(*ledger.store, kEc2Provider));
    noted = cloud::AllPlaces(noted, options_.places);
    if (!everywhere) return noted;
    STOKER_ASSIGN(const auto api, Api());
    std::string ask = noted.empty() ? "" : noted.front();
    if (ask.empty()) {
      STOKER_ASSIGN(const AwsAccount account, FindAwsAccount());
      ask = AwsRegion(account.outside, account.config);
    }
    STOKER_ASSIGN(const auto told, Ec2Regions(*api, ask.empty() ? "us-east-1" : ask));
    return cloud::AllPlaces(noted, told);
  }

  std::string Profile() const {
    const std::string given = options_.settings.Of(kAwsProfile);
    return given.empty() ? kUsualProfile : given;
  }

  const ProviderOptions options_;
  Clock& clock_;
  std::shared_ptr<ec2::AwsApi> api_;
  std::unique_ptr<Provider> provider_;
};

}  // namespace

std::unique_ptr<Broker> MakeEc2Broker(const ProviderOptions& options, Clock& clock) {
  return std::make_unique<Ec2Broker>(options, clock);
}

}  // namespace stoker

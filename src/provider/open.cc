// SPDX-License-Identifier: Apache-2.0
#include "provider/open.h"

#include <atomic>
#include <optional>
#include <utility>

#include "base/text.h"
#include "base/utf8.h"
#include "ledger/places.h"
#include "provider/allocation_gate.h"
#include "provider/ec2/api/aws_api.h"
#include "provider/slurm/slurm_provider.h"
#include "sys/folder_cache.h"

namespace stoker {

Providers::Providers(ProviderOptions options, Clock& clock)
    : options_(std::move(options)), clock_(clock) {}

Providers::~Providers() = default;

Result<LocalProvider*> Providers::Local() {
  if (!local_) {
    LocalProviderOptions local;
    local.state_dir = options_.state_dir;
    local.gate = MakeAllocationGate();
    STOKER_ASSIGN(local_, MakeLocalProvider(local, clock_));
  }
  return local_.get();
}

Result<SshProvider*> Providers::Ssh() {
  if (!options_.store) return Status(Code::kInvalid, "boxes are not asked from here");
  if (!ssh_) {
    ssh_ = MakeSshProvider({options_.pools, options_.state_dir, "", options_.store}, clock_);
  }
  return ssh_.get();
}

namespace {

using Opener = std::function<Result<ObjectStore*>()>;

// The store's clock, as far as it is from this machine's: told with each list of places, which
// whoever looks after machines asks for at each look.
class StoreClock {
 public:
  explicit StoreClock(Clock& clock) : clock_(clock) {}
  void IsNow(WallTime now) {
    ahead_ms_ = (now - clock_.Wall()).ms;
    known_ = true;
  }
  std::optional<WallTime> Now() const {
    if (!known_) return std::nullopt;
    return clock_.Wall() + Duration::Ms(ahead_ms_);
  }

 private:
  Clock& clock_;
  std::atomic<int64_t> ahead_ms_ = 0;
  std::atomic<bool> known_ = false;
};

// What the ledger in `store` keeps for a cloud.
std::function<Result<std::vector<std::string>>()> Noted(
    const Opener& store, const char* provider, const std::shared_ptr<StoreClock>& clock = nullptr) {
  return [store, provider, clock]() -> Result<std::vector<std::string>> {
    STOKER_ASSIGN(ObjectStore * opened, store());
    WallTime now;
    auto places = NotedPlaces(*opened, provider, &now);
    if (places.ok() && clock) clock->IsNow(now);
    return places;
  };
}

std::function<Status(const std::string&)> Noting(const Opener& store, const char* provider) {
  return [store, provider](const std::string& place) -> Status {
    STOKER_ASSIGN(ObjectStore * opened, store());
    return NotePlace(*opened, provider, place);
  };
}

std::function<Status(const std::string&, const std::string&, Duration)> Drills(
    const Opener& store) {
  return [store](const std::string& job, const std::string& id, Duration lead) -> Status {
    STOKER_ASSIGN(ObjectStore * opened, store());
    return AskDrill(*opened, job, id, lead);
  };
}

}  // namespace

Result<std::shared_ptr<ec2::AwsApi>> Providers::Aws() {
  if (!aws_) {
    std::shared_ptr<Cache> memory;
    if (!options_.cache_dir.empty()) memory = sys::MakeFolderCache(options_.cache_dir + "/aws");
    STOKER_ASSIGN(aws_, MakeAwsApi(std::move(memory)));
  }
  return aws_;
}

Result<std::shared_ptr<gce::ComputeApi>> Providers::Compute() {
  if (!compute_) {
    STOKER_ASSIGN(compute_, MakeComputeApi());
  }
  return compute_;
}

// Each provider has a line here.
Result<std::unique_ptr<Provider>> Providers::Make(const std::string& name) {
  if (name == kSlurmProvider) {
    SlurmOptions slurm;
    slurm.state_dir = options_.state_dir;
    slurm.login = options_.slurm_login;
    return MakeSlurmProvider(slurm, clock_);
  }
  if (name == kEc2Provider && options_.store) {
    STOKER_ASSIGN(auto api, Aws());
    const Opener& store = options_.store;
    const auto clock = std::make_shared<StoreClock>(clock_);
    Ec2Notes notes{Noted(store, kEc2Provider, clock), Noting(store, kEc2Provider), Drills(store),
                   [clock] { return clock->Now(); }};
    return MakeEc2Provider(std::move(api), std::move(notes));
  }
  if (name == kGceProvider && options_.store) {
    STOKER_ASSIGN(auto api, Compute());
    const Opener& store = options_.store;
    const auto clock = std::make_shared<StoreClock>(clock_);
    GceNotes notes{Noted(store, kGceProvider, clock), Noting(store, kGceProvider), Drills(store),
                   [clock] { return clock->Now(); }};
    return MakeGceProvider(std::move(api), std::move(notes));
  }
  return Status(Code::kInvalid, "'" + Spelled(name) + "' is no provider that this stoker has",
                "It has: local (this machine), ssh (boxes of a pool), slurm (a cluster), ec2 "
                "(Amazon), gce (Google)");
}

Result<Provider*> Providers::Get(const std::string& name) {
  if (name == kLocalProvider) {
    STOKER_ASSIGN(LocalProvider * local, Local());
    return static_cast<Provider*>(local);
  }
  if (name == kSshProvider) {
    STOKER_ASSIGN(SshProvider * ssh, Ssh());
    return static_cast<Provider*>(ssh);
  }
  auto& known = others_[name];
  if (known) return known.get();
  auto made = Make(name);
  if (!made.ok()) {
    others_.erase(name);
    return made.status();
  }
  known = std::move(*made);
  return known.get();
}

}  // namespace stoker

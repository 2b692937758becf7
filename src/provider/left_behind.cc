// SPDX-License-Identifier: Apache-2.0
#include "provider/left_behind.h"

#include <atomic>
#include <utility>

namespace stoker {

// Notes whether the last list was refused.
class LeftBehind::Watched : public Provider {
 public:
  explicit Watched(Provider& provider) : provider_(provider) {}

  bool denied() const { return denied_; }

  const ProviderTraits& traits() const override { return provider_.traits(); }
  LaunchAnswer Launch(const LaunchRequest& request) override { return provider_.Launch(request); }
  Result<InstancesSeen> Describe(const std::string& ledger_id, const std::string& job) override {
    auto seen = provider_.Describe(ledger_id, job);
    denied_ = seen.status().Is(Code::kDenied);
    return seen;
  }
  Status Terminate(const std::string& id) override { return provider_.Terminate(id); }
  StartAnswer Start(const std::string& id) override { return provider_.Start(id); }
  Status Interrupt(const std::string& id, Duration lead) override {
    return provider_.Interrupt(id, lead);
  }

 private:
  Provider& provider_;
  std::atomic<bool> denied_{false};
};

LeftBehind::LeftBehind(std::string own) : own_(std::move(own)) {}

LeftBehind::~LeftBehind() = default;

void LeftBehind::Heard(const Job& job) {
  std::set<std::string> offered;
  for (const Offer& offer : job.offers) offered.insert(offer.ask.place.provider);
  if (job.move) {
    for (const Offer& offer : job.move->offers) offered.insert(offer.ask.place.provider);
  }
  const std::lock_guard lock(mutex_);
  offered_ = std::move(offered);
}

Provider* LeftBehind::ToAsk(const std::string& name, Provider* provider) {
  const std::lock_guard lock(mutex_);
  if (provider == nullptr || name == own_) return provider;
  auto& watched = asked_[name];
  if (!watched) watched = std::make_unique<Watched>(*provider);
  const bool left = watched->denied() && !offered_.empty() && offered_.count(name) == 0;
  return left ? nullptr : watched.get();
}

}  // namespace stoker

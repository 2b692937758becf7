// SPDX-License-Identifier: Apache-2.0
#include "provider/open.h"

#include <utility>

#include "base/text.h"
#include "base/utf8.h"
#include "ledger/places.h"
#include "provider/slurm/slurm_provider.h"

namespace stoker {

Providers::Providers(ProviderOptions options, Clock& clock)
    : options_(std::move(options)), clock_(clock) {}

Providers::~Providers() = default;

Result<LocalProvider*> Providers::Local() {
  if (!local_) {
    LocalProviderOptions local;
    local.state_dir = options_.state_dir;
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

Ec2Notes Providers::NotesForEc2() const {
  const auto store = options_.store;
  Ec2Notes notes;
  notes.regions = [store]() -> Result<std::vector<std::string>> {
    STOKER_ASSIGN(ObjectStore * opened, store());
    return NotedPlaces(*opened, kEc2Provider);
  };
  notes.note_region = [store](const std::string& region) -> Status {
    STOKER_ASSIGN(ObjectStore * opened, store());
    return NotePlace(*opened, kEc2Provider, region);
  };
  notes.drill = [store](const std::string& job, const std::string& id, Duration lead) -> Status {
    STOKER_ASSIGN(ObjectStore * opened, store());
    return AskDrill(*opened, job, id, lead);
  };
  return notes;
}

Result<std::shared_ptr<ec2::AwsApi>> Providers::Aws() {
  if (!aws_) {
    STOKER_ASSIGN(aws_, MakeAwsApi());
  }
  return aws_;
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
    return MakeEc2Provider(std::move(api), NotesForEc2());
  }
  return Status(Code::kInvalid, "'" + Spelled(name) + "' is no provider that this stoker has",
                "It has: local (this machine), ssh (boxes of a pool), slurm (a cluster), ec2 "
                "(Amazon)");
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

// SPDX-License-Identifier: Apache-2.0
#include "provider/open.h"

#include <utility>

#include "base/text.h"
#include "base/utf8.h"
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

// Each provider has a line here.
Result<std::unique_ptr<Provider>> Providers::Make(const std::string& name) {
  if (name == kSlurmProvider) {
    SlurmOptions slurm;
    slurm.state_dir = options_.state_dir;
    slurm.login = options_.slurm_login;
    return MakeSlurmProvider(slurm, clock_);
  }
  return Status(Code::kInvalid, "'" + Spelled(name) + "' is no provider that this stoker has",
                "It has: local (this machine), ssh (boxes of a pool), slurm (a cluster)");
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

// SPDX-License-Identifier: Apache-2.0
#include "provider/open.h"

#include "base/text.h"
#include "base/utf8.h"
#include "provider/local/local_broker.h"
#include "provider/registry.h"

namespace stoker {
namespace {

std::string Names() {
  std::vector<std::string> names;
  for (const ProviderLine& line : Registry()) {
    names.push_back(line.traits.name + std::string(" (") + line.traits.title + ")");
  }
  return Join(names, ", ");
}

}  // namespace

const BrokerTraits* TraitsOf(std::string_view provider) {
  for (const ProviderLine& line : Registry()) {
    if (line.traits.name == provider) return &line.traits;
  }
  return nullptr;
}

Providers::Providers(ProviderOptions options, Clock& clock)
    : options_(std::move(options)),
      clock_(clock),
      hosts_(Registry().size()),
      brokers_(Registry().size()) {}

Providers::~Providers() = default;

std::vector<Broker*> Providers::All() {
  std::vector<Broker*> all;
  for (size_t i = 0; i < brokers_.size(); ++i) {
    if (!brokers_[i]) brokers_[i] = Registry()[i].make(options_, clock_);
    all.push_back(brokers_[i].get());
  }
  return all;
}

Result<Broker*> Providers::At(std::string_view name) {
  for (Broker* broker : All()) {
    if (broker->traits().name == name) return broker;
  }
  return Status(Code::kInvalid,
                "'" + Spelled(std::string(name)) + "' is no provider that this stoker has",
                "It has: " + Names());
}

Result<Provider*> Providers::Get(const std::string& name) {
  STOKER_ASSIGN(Broker * broker, At(name));
  return broker->Machines();
}

Result<AwayHost*> Providers::Away(std::string_view name) {
  STOKER_TRY(At(name).status());
  std::vector<std::string> able;
  for (size_t i = 0; i < Registry().size(); ++i) {
    const ProviderLine& line = Registry()[i];
    if (line.away.host == nullptr) continue;
    able.emplace_back(line.traits.infra.word);
    if (line.traits.name != name) continue;
    if (!hosts_[i]) {
      STOKER_ASSIGN(hosts_[i], line.away.host(options_));
    }
    return hosts_[i].get();
  }
  return Status(Code::kInvalid,
                "nothing of '" + Spelled(std::string(name)) +
                    "' can look after jobs while nobody is at a desk",
                "These can: " + Join(able, ", ") +
                    "; 'stoker controller --install' alone installs a timer here");
}

Result<LocalProvider*> Providers::Local() {
  STOKER_ASSIGN(Broker * broker, At(kLocalProvider));
  return static_cast<LocalBroker*>(broker)->Local();
}

}  // namespace stoker

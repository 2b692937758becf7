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
    : options_(std::move(options)), clock_(clock), brokers_(Registry().size()) {}

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

Result<LocalProvider*> Providers::Local() {
  STOKER_ASSIGN(Broker * broker, At(kLocalProvider));
  return static_cast<LocalBroker*>(broker)->Local();
}

}  // namespace stoker

// SPDX-License-Identifier: Apache-2.0
#include "port/broker.h"

#include "base/text.h"

namespace stoker {

bool ReadsVault(const BrokerTraits& traits, std::string_view scheme) {
  for (const std::string& one : Split(std::string(traits.vaults), ' ')) {
    if (!one.empty() && one == scheme) return true;
  }
  return false;
}

std::string_view OwnVault(const BrokerTraits& traits) {
  return traits.vaults.substr(0, traits.vaults.find(' '));
}

Place VaultPlace(const BrokerTraits& traits, const Place& place) {
  return {place.provider, place.account, traits.vault_of_region ? place.region : "", ""};
}

}  // namespace stoker

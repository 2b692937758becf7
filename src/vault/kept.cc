// SPDX-License-Identifier: Apache-2.0
#include "vault/kept.h"

#include <algorithm>

#include "ledger/places.h"
#include "vault/open.h"

namespace stoker {
namespace {

// Beside the notes of where its machines may be.
std::string NotesOf(const BrokerTraits& traits) { return std::string(traits.name) + "-secrets"; }

Place NotedPlace(const BrokerTraits& traits, const std::string& note) {
  return traits.vault_of_region ? Place{traits.name, "", note, ""}
                                : Place{traits.name, note, "", ""};
}

Result<std::vector<KeptSecret>> ListIn(const BrokerTraits& traits, const Place& place,
                                       const std::string& id) {
  STOKER_ASSIGN(const auto vault, OpenVault(OwnVault(traits), place));
  return vault->List(id);
}

}  // namespace

Status NoteVault(const LedgerRef& ledger, const BrokerTraits& traits, const Place& place) {
  return NotePlace(*ledger.store, NotesOf(traits),
                   traits.vault_of_region ? place.region : place.account);
}

void AddKeptSecrets(const LedgerRef& ledger, const std::string& id, const BrokerTraits& traits,
                    Holdings* out) {
  WallTime now;
  const auto noted = NotedPlaces(*ledger.store, NotesOf(traits), &now);
  if (!noted.ok()) return out->troubles.push_back(noted.status().ToString());
  for (const std::string& note : *noted) {
    const Place place = NotedPlace(traits, note);
    const auto listed = ListIn(traits, place, id);
    if (!listed.ok()) {
      auto& told = listed.status().Is(Code::kDenied) ? out->forbidden : out->troubles;
      told.push_back(listed.status().ToString());
      continue;
    }
    for (const KeptSecret& one : *listed) {
      Holding secret;
      secret.kind = HoldingKind::kSecret;
      secret.word = "secret";
      secret.id = one.id;
      secret.place = place;
      secret.what = "a value in " + std::string(OwnVault(traits));
      secret.job = one.job;
      secret.since = one.since;
      secret.expires = one.expires;
      out->all.push_back(std::move(secret));
    }
  }
  if (out->now.ms == 0) out->now = now;
}

Status EndKeptSecret(const BrokerTraits& traits, const Holding& secret) {
  STOKER_ASSIGN(const auto vault, OpenVault(OwnVault(traits), secret.place));
  return vault->Remove(secret.id);
}

}  // namespace stoker

// SPDX-License-Identifier: Apache-2.0
// What a ledger's jobs keep in one provider's vaults, for whoever clears up there.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "port/broker.h"
#include "port/holding.h"

namespace stoker {

// Notes in the ledger that secrets may lie in the vault of `place` (VaultPlace): before the first
// is put there. May be repeated.
Status NoteVault(const LedgerRef& ledger, const BrokerTraits& traits, const Place& place);

// Adds those of the ledger `id` in the vaults that `ledger` ever noted; where none was, nobody is
// asked. What could not be listed is told in `out`.
void AddKeptSecrets(const LedgerRef& ledger, const std::string& id, const BrokerTraits& traits,
                    Holdings* out);
// One that AddKeptSecrets gave. Ok when it is gone already.
Status EndKeptSecret(const BrokerTraits& traits, const Holding& secret);

}  // namespace stoker

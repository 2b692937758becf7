// SPDX-License-Identifier: Apache-2.0
// Values of a job's secrets in the vaults of the clouds that lend its machines: put when it is
// submitted, read by its nodes, removed at its end.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "job/job.h"
#include "port/broker.h"
#include "spec/job_spec.h"

namespace stoker {

// Longer than any job that is not looked after; see docs/secrets.md.
inline constexpr Duration kSecretsLast = Duration::Hours(90 * 24);

// The vaults of machines of `offers`, each once. `elsewhere`, unless null: whether there are offers
// whose machines read secrets in a state folder.
std::vector<Place> VaultsOf(const std::vector<Offer>& offers, bool* elsewhere = nullptr);

// Into each vault of `job.secrets_in`. May be repeated. Errors: those of Vault::Check, before any
// is put, and of Vault::Put: then some may lie there, for RemoveJobSecrets.
Status PutJobSecrets(const LedgerRef& ledger, const Job& job,
                     const std::vector<std::pair<std::string, std::string>>& values, WallTime now);

// Out of them; with `provider`, only out of those of that one: false where there are others. Ok
// where they are gone already. The first error, all the same tries the others.
Result<bool> RemoveJobSecrets(const std::string& ledger_id, const Job& job,
                              const std::vector<std::string>& names,
                              const std::string& provider = "");

// The value of `secret` for a machine in `machine`, by that machine's own rights. nullopt: it lies
// in no vault, but in the state folder, if anywhere. kInvalid: it lies in vaults, and none is that
// machine's; others are those of ReadSecret, with the name of the variable.
Result<std::optional<std::string>> ReadJobSecret(const SecretSpec& secret,
                                                 const std::string& ledger_id, const Job& job,
                                                 const Place& machine);

// The same for whoever may have it in the state folder, which comes first.
Result<std::optional<std::string>> FindJobSecret(const std::string& state,
                                                 const std::string& ledger_id, const Job& job,
                                                 const SecretSpec& secret, const Place& machine);

// kInvalid: machines of `traits` have no rights where a secret of `spec` lies by its reference; or
// it would be read on this machine, which lacks what that takes, such as a region. Sends nothing.
Status CheckReferences(const JobSpec& spec, const BrokerTraits& traits);

}  // namespace stoker

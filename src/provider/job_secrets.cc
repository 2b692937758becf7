// SPDX-License-Identifier: Apache-2.0
#include "provider/job_secrets.h"

#include <algorithm>
#include <memory>

#include "base/text.h"
#include "provider/local/local_private.h"
#include "provider/open.h"
#include "spec/text/secret_reference.h"
#include "vault/kept.h"
#include "vault/open.h"

namespace stoker {
namespace {

const BrokerTraits* WithVault(const Place& place) {
  const BrokerTraits* traits = TraitsOf(place.provider);
  return traits != nullptr && !traits->vaults.empty() ? traits : nullptr;
}

std::string PlaceText(const Place& place) {
  std::string text = place.provider;
  for (const std::string& part : {place.account, place.region}) {
    if (!part.empty()) text += " " + part;
  }
  return text;
}

Result<std::string> ReadValue(const SecretSpec& secret, const Place& machine) {
  STOKER_ASSIGN(const SecretReference reference, ParseSecretReference(secret.from));
  const BrokerTraits* traits = WithVault(machine);
  const bool own = traits != nullptr && ReadsVault(*traits, reference.scheme);
  return ReadSecret(secret.from, own ? machine : Place{"", "", "", ""});
}

}  // namespace

std::vector<Place> VaultsOf(const std::vector<Offer>& offers, bool* elsewhere) {
  std::vector<Place> out;
  if (elsewhere != nullptr) *elsewhere = offers.empty();
  for (const Offer& offer : offers) {
    const BrokerTraits* traits = WithVault(offer.ask.place);
    if (traits == nullptr) {
      if (elsewhere != nullptr) *elsewhere = true;
      continue;
    }
    const Place place = VaultPlace(*traits, offer.ask.place);
    if (std::find(out.begin(), out.end(), place) == out.end()) out.push_back(place);
  }
  return out;
}

Status PutJobSecrets(const LedgerRef& ledger, const Job& job,
                     const std::vector<std::pair<std::string, std::string>>& values, WallTime now) {
  std::vector<std::unique_ptr<Vault>> vaults;  // null: it has none
  for (const Place& place : job.secrets_in) {
    vaults.emplace_back();
    const BrokerTraits* traits = WithVault(place);
    if (traits == nullptr) continue;
    STOKER_ASSIGN(vaults.back(), OpenVault(OwnVault(*traits), place));
    for (const auto& [name, value] : values) {
      STOKER_TRY(vaults.back()->Check({ledger.id, job.id, name}, value));
    }
  }
  for (size_t i = 0; i < vaults.size(); ++i) {
    if (vaults[i] == nullptr) continue;
    STOKER_TRY(NoteVault(ledger, *WithVault(job.secrets_in[i]), job.secrets_in[i]));
    for (const auto& [name, value] : values) {
      STOKER_TRY(vaults[i]
                     ->Put({ledger.id, job.id, name}, value, now + kSecretsLast)
                     .WithContext("the secret " + name));
    }
  }
  return Status::Ok();
}

Result<bool> RemoveJobSecrets(const std::string& ledger_id, const Job& job,
                              const std::vector<std::string>& names, const std::string& provider) {
  if (names.empty()) return true;
  Status first;
  bool all = true;
  for (const Place& place : job.secrets_in) {
    const BrokerTraits* traits = WithVault(place);
    const bool mine = provider.empty() || place.provider == provider;
    all = all && mine;
    if (traits == nullptr || !mine) continue;
    const auto vault = OpenVault(OwnVault(*traits), place);
    if (!vault.ok()) {
      if (first.ok()) first = vault.status();
      continue;
    }
    for (const std::string& name : names) {
      const Status gone = (*vault)->Remove((*vault)->PlaceOf({ledger_id, job.id, name}).name);
      if (first.ok()) first = gone;
      if (gone.transient()) break;  // the next would wait as long
    }
  }
  return first.ok() ? Result<bool>(all) : first;
}

Result<std::optional<std::string>> ReadJobSecret(const SecretSpec& secret,
                                                 const std::string& ledger_id, const Job& job,
                                                 const Place& machine) {
  const auto told = [&](Result<std::string> value) -> Result<std::optional<std::string>> {
    if (!value.ok()) return value.status().WithContext("the secret " + secret.name);
    const bool sound = !value->empty() && value->find('\0') == std::string::npos;
    if (sound) return std::optional<std::string>(std::move(*value));
    return Status(Code::kInvalid, "the secret " + secret.name + " is empty, or no text");
  };
  if (!secret.from.empty()) return told(ReadValue(secret, machine));
  const BrokerTraits* traits = WithVault(machine);
  if (traits == nullptr) return std::optional<std::string>();
  const Place place = VaultPlace(*traits, machine);
  if (std::find(job.secrets_in.begin(), job.secrets_in.end(), place) == job.secrets_in.end()) {
    std::vector<std::string> where;
    for (const Place& one : job.secrets_in) where.push_back(PlaceText(one));
    return Status(Code::kInvalid,
                  "the secret " + secret.name + " does not lie in " + PlaceText(place) +
                      (where.empty() ? "" : ", but in " + Join(where, ", ")),
                  "'stoker run --from " + job.id + "' with " + secret.name +
                      " in your environment goes on from the newest checkpoint");
  }
  STOKER_ASSIGN(const auto vault, OpenVault(OwnVault(*traits), place));
  auto value = vault->Read(vault->PlaceOf({ledger_id, job.id, secret.name}));
  if (value.status().Is(Code::kNotFound)) {
    return value.status()
        .WithContext("the secret " + secret.name)
        .WithNext("It was removed, or its time of 90 days was over: 'stoker retry " + job.id +
                  "' with " + secret.name +
                  " in your environment goes on from the newest checkpoint");
  }
  return told(std::move(value));
}

Result<std::optional<std::string>> FindJobSecret(const std::string& state,
                                                 const std::string& ledger_id, const Job& job,
                                                 const SecretSpec& secret, const Place& machine) {
  if (auto own = FindPrivate(state, ledger_id, job.id, secret.name)) return own;
  return ReadJobSecret(secret, ledger_id, job, machine);
}

Status CheckReferences(const JobSpec& spec, const BrokerTraits& traits) {
  const bool here = traits.name == std::string_view(kLocalProvider);
  // Elsewhere by whatever credentials are found there.
  if (traits.vaults.empty() && !here) return Status::Ok();
  for (const SecretSpec& secret : spec.secrets) {
    if (secret.from.empty()) continue;
    STOKER_ASSIGN(const SecretReference reference, ParseSecretReference(secret.from));
    if (here) {
      const auto vault = OpenVaultOf(reference, Place{"", "", "", ""});
      if (!vault.ok()) return vault.status().WithContext("the secret " + secret.name);
      continue;
    }
    if (ReadsVault(traits, reference.scheme)) continue;
    return Status(Code::kInvalid,
                  std::string(traits.machines) + " have no rights where the secret " + secret.name +
                      " lies: " + Printable(secret.from),
                  "They read " + Join(Split(std::string(traits.vaults), ' '), ": and ") +
                      ": by their own role. Or give the value: --secret " + secret.name);
  }
  return Status::Ok();
}

}  // namespace stoker

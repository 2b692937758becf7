// SPDX-License-Identifier: Apache-2.0
// Vaults by their scheme, with the credentials that the user's other tools, or the machine's own
// role, would use here. Nothing is sent before they are asked.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"
#include "job/request.h"
#include "port/vault.h"

namespace stoker {

// `where`: whose account (a project) and region it is of; "" = as this machine is set up. kInvalid:
// there is none of that scheme, or it lacks a region or project.
Result<std::unique_ptr<Vault>> OpenVault(std::string_view scheme, const Place& where);

// The vault in which `reference` lies, for a machine in `where`; an ARN's region goes before that.
Result<std::unique_ptr<Vault>> OpenVaultOf(const SecretReference& reference, const Place& where);

// The value behind a reference of a job file, asked for on a machine in `where`. Errors: those of
// ParseSecretReference, OpenVault and Vault::Read; kInvalid: no member of that name in its JSON.
Result<std::string> ReadSecret(const std::string& reference, const Place& where);

// The member `key` of `value`, a JSON object. kInvalid, without any of it in the words.
Result<std::string> MemberOf(const std::string& value, const std::string& key);

}  // namespace stoker

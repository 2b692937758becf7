// SPDX-License-Identifier: Apache-2.0
#include "vault/open.h"

#include "base/json.h"
#include "base/text.h"
#include "vault/aws_calls.h"
#include "vault/aws_secrets.h"
#include "vault/google_secrets.h"
#include "vault/parameter_store.h"

namespace stoker {

Result<std::unique_ptr<Vault>> OpenVault(std::string_view scheme, const Place& where) {
  if (scheme == vault::kParameterStore) return vault::OpenParameterStore(where.region);
  if (scheme == vault::kAwsSecret) return vault::OpenAwsSecrets(where.region);
  if (scheme == vault::kGoogleSecret) return vault::OpenGoogleSecrets(where.account);
  return Status(Code::kInvalid,
                "this stoker knows no place for secrets called '" + Printable(scheme) + "'",
                std::string("It knows ") + kReferenceForms);
}

Result<std::unique_ptr<Vault>> OpenVaultOf(const SecretReference& reference, const Place& where) {
  Place in = where;
  in.region = vault::RegionOfName(reference.name, where.region);
  return OpenVault(reference.scheme, in);
}

Result<std::string> ReadSecret(const std::string& reference, const Place& where) {
  STOKER_ASSIGN(const SecretReference parsed, ParseSecretReference(reference));
  STOKER_ASSIGN(const auto opened, OpenVaultOf(parsed, where));
  STOKER_ASSIGN(std::string value, opened->Read(parsed));
  return parsed.key.empty() ? Result<std::string>(std::move(value)) : MemberOf(value, parsed.key);
}

Result<std::string> MemberOf(const std::string& value, const std::string& key) {
  const auto object = nlohmann::ordered_json::parse(value, nullptr, false);
  if (!object.is_object()) {
    return Status(Code::kInvalid, "its value is no JSON object, so has no '" + key + "'",
                  "Name it without '#" + key + "'");
  }
  const auto member = object.find(key);
  if (member == object.end()) {
    return Status(Code::kInvalid, "its JSON object has no member '" + key + "'");
  }
  return member->is_string() ? member->get<std::string>() : member->dump();
}

}  // namespace stoker

// SPDX-License-Identifier: Apache-2.0
// What 'gcloud auth application-default login --impersonate-service-account' leaves.
#include "base/text.h"
#include "google/exchange.h"
#include "google/sources.h"

namespace stoker {

Result<GoogleToken> FromImpersonation(const GoogleLookup& lookup, const GoogleFile& file) {
  STOKER_ASSIGN(const std::string url, file.Need("service_account_impersonation_url"));
  const std::string who = ImpersonatedBy(url);
  if (who.empty() || who.find_first_of("?#\r\n ") != std::string::npos) {
    return Status(Code::kInvalid, file.where +
                                      ": service_account_impersonation_url names no "
                                      "service account");
  }
  const auto inner = file.json.find("source_credentials");
  if (inner == file.json.end() || !inner->is_object()) {
    return Status(Code::kInvalid, file.where + ": it has no source_credentials");
  }
  const GoogleFile source{file.where, *inner};
  const std::string kind = source.Text("type");
  if (kind != "authorized_user" && kind != "service_account") {
    return Status(Code::kInvalid,
                  file.where + ": source_credentials of type '" + Printable(kind.substr(0, 60)) +
                      "' are not supported",
                  "They must be of type authorized_user or service_account");
  }
  STOKER_ASSIGN(const GoogleToken giver, kind == "authorized_user"
                                             ? FromUser(lookup, source)
                                             : FromServiceAccount(lookup, source, kIamScope));
  // As google-auth: the file names the account, and not the service that is asked.
  const std::string service =
      "https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/" + who +
      ":generateAccessToken";
  const auto delegates = file.json.find("delegates");
  return Impersonate(lookup, "impersonated service account of " + file.where, service, giver,
                     delegates == file.json.end() ? nlohmann::json() : *delegates, "3600s");
}

}  // namespace stoker

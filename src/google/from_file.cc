// SPDX-License-Identifier: Apache-2.0
// Files of application-default credentials, and where they lie.
#include <utility>

#include "base/text.h"
#include "google/sources.h"

namespace stoker {
namespace {

using Json = nlohmann::json;

constexpr char kUniverse[] = "googleapis.com";

Result<GoogleToken> ByKind(const GoogleLookup& lookup, const GoogleFile& file) {
  const std::string kind = file.Text("type");
  if (kind == "service_account") return FromServiceAccount(lookup, file, lookup.scope);
  if (kind == "authorized_user") return FromUser(lookup, file);
  if (kind == "impersonated_service_account") return FromImpersonation(lookup, file);
  if (kind == "external_account") return FromExternalAccount(lookup, file);
  const std::string next =
      "stoker takes service_account, authorized_user, impersonated_service_account and "
      "external_account";
  if (kind.empty()) {
    return Status(Code::kInvalid, file.where + ": not a file of credentials: it has no type", next);
  }
  return Status(Code::kInvalid,
                file.where + ": credentials of type '" + Printable(kind.substr(0, 60)) +
                    "' are not supported",
                next);
}

Result<GoogleToken> FromText(const GoogleLookup& lookup, const std::string& path,
                             const std::string& text) {
  GoogleFile file{path, Json::parse(text, nullptr, /*allow_exceptions=*/false)};
  if (!file.json.is_object()) return Status(Code::kInvalid, path + ": not a JSON object");
  const std::string universe = file.Text("universe_domain");
  if (!universe.empty() && universe != kUniverse) {
    return Status(Code::kInvalid,
                  path + ": credentials of '" + Printable(universe) + "' are not supported",
                  std::string("stoker knows the services of ") + kUniverse);
  }
  STOKER_ASSIGN(GoogleToken token, ByKind(lookup, file));
  // As google-auth: a service account's key names no project for this.
  const bool key = file.Text("type") == "service_account";
  token.quota_project = lookup.environment.variable("GOOGLE_CLOUD_QUOTA_PROJECT")
                            .value_or(key ? "" : file.Text("quota_project_id"));
  return token;
}

std::string OfGcloud(const GoogleEnvironment& environment) {
  const std::string folder =
      environment.variable("CLOUDSDK_CONFIG").value_or(environment.home + "/.config/gcloud");
  return folder + "/application_default_credentials.json";
}

}  // namespace

std::string GoogleFile::Text(const char* name) const {
  const auto at = json.find(name);
  return at != json.end() && at->is_string() ? at->get<std::string>() : "";
}

Result<std::string> GoogleFile::Need(const char* name) const {
  std::string text = Text(name);
  if (!text.empty()) return text;
  return Status(Code::kInvalid, where + ": it has no " + name);
}

GoogleFound FindGoogleToken(const GoogleLookup& lookup) {
  const GoogleEnvironment& environment = lookup.environment;
  const auto named = environment.variable("GOOGLE_APPLICATION_CREDENTIALS");
  if (!named) lookup.Miss("GOOGLE_APPLICATION_CREDENTIALS is not set");
  const std::string path = named.value_or(OfGcloud(environment));
  const auto text = environment.read_file(path);
  if (text.ok()) {
    STOKER_ASSIGN(GoogleToken token, FromText(lookup, path, *text));
    return std::optional(std::move(token));
  }
  // The variable may name gcloud's own file, which need not be there.
  if (!text.status().Is(Code::kNotFound) || (named && path != OfGcloud(environment))) {
    return Status(text.code() == Code::kNotFound ? Code::kDenied : text.code(),
                  named ? "GOOGLE_APPLICATION_CREDENTIALS: " + text.status().message()
                        : text.status().message(),
                  "Name a file that is there and readable");
  }
  lookup.Miss("there is no " + path);
  return FromMetadata(lookup);
}

}  // namespace stoker

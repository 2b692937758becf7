// SPDX-License-Identifier: Apache-2.0
// Workload identity federation: somebody else's token for one of Google's. Sources: AIP-4117;
// RFC 8693 (token exchange); google-auth's identity_pool.py.
#include <algorithm>

#include "base/base64.h"
#include "base/text.h"
#include "google/exchange.h"
#include "google/external.h"
#include "google/sources.h"
#include "net/percent.h"

namespace stoker {
namespace {

using Json = nlohmann::json;

Result<std::string> TokenIn(const std::string& where, const Json& source, std::string text) {
  const Json format = source.value("format", Json::object());
  const std::string kind = format.is_object() ? GoogleFile{"", format}.Text("type") : "";
  if (kind == "json") {
    const std::string field = GoogleFile{"", format}.Text("subject_token_field_name");
    const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
    text = json.is_object() ? GoogleFile{"", json}.Text(field.c_str()) : "";
  } else if (!kind.empty() && kind != "text") {
    return Status(Code::kInvalid,
                  where + ": a credential_source of format '" + Printable(kind) + "'");
  }
  if (text.empty()) return Status(Code::kDenied, where + ": it has no token");
  return text;
}

Status Refused(const GoogleFile& file, const std::string& kind) {
  return Status(
      Code::kInvalid, file.where + ": external credentials from " + kind + " are not supported",
      "stoker takes credential_source of AWS, with 'file', 'url' or 'executable'; elsewhere, "
      "name the key file of a service account in GOOGLE_APPLICATION_CREDENTIALS");
}

HttpHeaders HeadersOf(const Json& source) {
  HttpHeaders out;
  const auto headers = source.find("headers");
  if (headers == source.end() || !headers->is_object()) return out;
  for (const auto& [name, value] : headers->items()) {
    if (!value.is_string()) continue;
    out.emplace_back(name, value.get<std::string>());
  }
  std::erase_if(out, [](const auto& header) {
    return (header.first + header.second).find_first_of("\r\n") != std::string::npos;
  });
  return out;
}

Result<ExternalSubject> ReadSubject(const GoogleLookup& lookup, const GoogleFile& file) {
  const auto at = file.json.find("credential_source");
  if (at == file.json.end() || !at->is_object()) {
    return Status(Code::kInvalid, file.where + ": it has no credential_source");
  }
  const GoogleFile source{file.where, *at};
  if (file.Text("subject_token_type") == "urn:ietf:params:aws:token-type:aws4_request") {
    return SubjectOfAws(lookup, file, source);
  }
  const auto program = source.json.find("executable");
  if (program != source.json.end() && !program->is_null()) {
    return SubjectOfExecutable(lookup, file, source);
  }
  if (source.json.contains("certificate")) return Refused(file, "a certificate");
  const std::string path = source.Text("file");
  const std::string url = source.Text("url");
  if (path.empty() == url.empty()) {
    return Status(Code::kInvalid,
                  file.where + ": credential_source must have one of 'file' and 'url'");
  }
  ExternalSubject subject;
  subject.found = "workload identity of " + file.where + " (token of " +
                  (path.empty() ? "a service" : Printable(path)) + ")";
  if (!path.empty()) {
    // Read each time: whoever writes the file renews the token.
    const auto text = lookup.environment.read_file(path);
    if (!text.ok()) return text.status().WithContext(subject.found);
    STOKER_ASSIGN(subject.text, TokenIn(subject.found, source.json, *text));
    return subject;
  }
  STOKER_ASSIGN(const HttpResponse answer,
                CallUrl(lookup, subject.found, url, {"GET", "", HeadersOf(source.json), ""}));
  if (answer.status != 200) {
    return Status(answer.status >= 500 ? Code::kUnavailable : Code::kDenied,
                  subject.found + ": it answered " + std::to_string(answer.status));
  }
  STOKER_ASSIGN(subject.text, TokenIn(subject.found, source.json, answer.body));
  return subject;
}

std::string LifetimeOf(const GoogleFile& file) {
  const auto at = file.json.find("service_account_impersonation");
  if (at != file.json.end() && at->is_object()) {
    const auto seconds = at->find("token_lifetime_seconds");
    if (seconds != at->end() && seconds->is_number_integer()) {
      return std::to_string(seconds->get<int64_t>()) + "s";
    }
  }
  return "3600s";
}

}  // namespace

Result<GoogleToken> FromExternalAccount(const GoogleLookup& lookup, const GoogleFile& file) {
  STOKER_ASSIGN(const std::string audience, file.Need("audience"));
  STOKER_ASSIGN(const std::string type, file.Need("subject_token_type"));
  STOKER_ASSIGN(const std::string url, file.Need("token_url"));
  STOKER_ASSIGN(const ExternalSubject subject, ReadSubject(lookup, file));
  const std::string impersonation = file.Text("service_account_impersonation_url");
  GoogleForm form = {
      {"grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"},
      {"audience", audience},
      {"scope", impersonation.empty() ? lookup.scope : kIamScope},
      {"requested_token_type", "urn:ietf:params:oauth:token-type:access_token"},
      {"subject_token", subject.text},
      {"subject_token_type", type},
  };
  HttpHeaders headers;
  const std::string client = file.Text("client_id");
  const std::string project = file.Text("workforce_pool_user_project");
  if (!client.empty()) {
    headers.emplace_back("Authorization",
                         "Basic " + Base64(client + ":" + file.Text("client_secret")));
  } else if (!project.empty()) {
    form.emplace_back("options", PercentEncode(Json{{"userProject", project}}.dump()));
  }
  STOKER_ASSIGN(GoogleToken token,
                ExchangeForm(lookup, subject.found, url, form, std::move(headers)));
  if (!impersonation.empty()) {
    return Impersonate(lookup, subject.found, impersonation, token, Json(), LifetimeOf(file));
  }
  token.who = audience;
  return token;
}

}  // namespace stoker

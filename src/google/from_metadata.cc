// SPDX-License-Identifier: Apache-2.0
// The metadata server of Compute Engine, Kubernetes Engine and Cloud Run. Source: "About VM
// metadata" (Compute Engine documentation); google-auth's compute_engine/_metadata.py.
#include "base/text.h"
#include "google/exchange.h"
#include "google/sources.h"

namespace stoker {
namespace {

constexpr char kAccount[] = "/computeMetadata/v1/instance/service-accounts/default/";

// Asks without a name that some other network might know: by the number, unless told otherwise.
std::string Host(const GoogleEnvironment& environment) {
  for (const char* name : {"GCE_METADATA_HOST", "GCE_METADATA_ROOT", "GCE_METADATA_IP"}) {
    if (auto value = environment.variable(name)) return *value;
  }
  return "169.254.169.254";
}

bool IsGoogles(const HttpResponse& response) {
  const std::string* flavor = FindHeader(response.headers, "Metadata-Flavor");
  return flavor != nullptr && *flavor == "Google";
}

bool Later(int status) { return status >= 500 || status == 429; }

// Of a server that is there: no answer, or a damaged one, is an answer that may come later.
Result<HttpResponse> AskServer(const GoogleLookup& lookup, const std::string& where,
                               const std::string& url) {
  auto answer = CallUrl(lookup, where, url, {"GET", "", {{"Metadata-Flavor", "Google"}}, ""});
  if (!answer.ok()) return Status(Code::kUnavailable, answer.status().message());
  if (!Later(answer->status)) return answer;
  return Status(Code::kUnavailable, where + ": it answered " + std::to_string(answer->status));
}

}  // namespace

GoogleFound FromMetadata(const GoogleLookup& lookup) {
  const GoogleEnvironment& environment = lookup.environment;
  const auto miss = [&](const std::string& why) {
    lookup.Miss("no metadata server of Google's (" + why + ")");
    return std::optional<GoogleToken>();
  };
  if (environment.variable("NO_GCE_CHECK").value_or("") == "true") {
    return miss("NO_GCE_CHECK is set");
  }
  const std::string base = "http://" + Host(environment);
  const std::string where = "service account of this machine (metadata server)";
  if (!environment.listens(base)) return miss("nobody answers at " + Printable(base));
  // Other clouds answer here too: nothing of theirs is taken for Google's.
  STOKER_ASSIGN(const HttpResponse there, AskServer(lookup, where, base + "/"));
  if (there.status != 200 || !IsGoogles(there)) return miss("another service answers there");
  const WallTime asked = environment.now();
  STOKER_ASSIGN(const HttpResponse answer, AskServer(lookup, where, base + kAccount + "token"));
  if (answer.status == 404) return miss("the machine has no service account");
  if (answer.status != 200) {
    return Status(Code::kDenied, where + ": it answered " + std::to_string(answer.status));
  }
  GoogleFile file{where, nlohmann::json::parse(answer.body, nullptr, false)};
  const auto life = file.json.is_object() ? file.json.find("expires_in") : file.json.end();
  if (!file.json.is_object() || file.Text("access_token").empty() || life == file.json.end() ||
      !life->is_number_integer() || !IsGoogles(answer)) {
    return Status(Code::kCorrupt, where + ": the answer is no token");
  }
  GoogleToken token;
  token.source = where;
  token.secret = file.Text("access_token");
  token.expires = asked + Duration::Seconds(life->get<int64_t>());
  token.quota_project = environment.variable("GOOGLE_CLOUD_QUOTA_PROJECT").value_or("");
  // For people; not worth failing for.
  const auto email = AskServer(lookup, where, base + kAccount + "email");
  if (email.ok() && email->status == 200) token.who = Printable(email->body.substr(0, 200));
  return std::optional(std::move(token));
}

}  // namespace stoker

// SPDX-License-Identifier: Apache-2.0
#include "google/credential_source.h"

#include <utility>
#include <vector>

#include "base/text.h"
#include "google/sources.h"

namespace stoker {

GoogleCredentialSource::GoogleCredentialSource(GoogleEnvironment environment, std::string scope)
    : environment_(std::move(environment)),
      scope_(std::move(scope)),
      renewing_({kSoon, kNow, [this] { return Find(); }, environment_.now}) {}

Result<GoogleToken> GoogleCredentialSource::Find() const {
  std::vector<std::string> tried;
  STOKER_ASSIGN(auto found, FindGoogleToken({environment_, &tried, scope_}));
  if (!found) {
    return Status(Code::kDenied, "no Google credentials were found: " + Join(tried, "; "),
                  "Run 'gcloud auth application-default login', set "
                  "GOOGLE_APPLICATION_CREDENTIALS, or give the machine a service account");
  }
  if (found->quota_project.find_first_of("\r\n") != std::string::npos) {
    return Status(Code::kInvalid, found->source + ": the project to be billed has a line break");
  }
  if (found->expires && *found->expires <= environment_.now()) {
    return Status(
        Code::kDenied,
        found->source + " gives a token that expired at " + FormatRfc3339(*found->expires),
        "Check this machine's clock");
  }
  return std::move(*found);
}

Result<GoogleToken> GoogleCredentialSource::Get() { return renewing_.Get(); }

void GoogleCredentialSource::Reject(const GoogleToken& rejected) {
  renewing_.Reject([&](const GoogleToken& current) { return current.secret == rejected.secret; });
}

std::string Describe(const GoogleToken& token) {
  std::string out = Printable(token.source);
  if (!token.who.empty()) out += ", for " + Printable(token.who);
  if (!token.quota_project.empty()) out += ", billed to " + Printable(token.quota_project);
  if (token.expires) out += ", until " + FormatRfc3339(*token.expires);
  return out;
}

}  // namespace stoker

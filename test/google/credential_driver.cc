// SPDX-License-Identifier: Apache-2.0
// Prints, as JSON, what stoker finds in the environment that it is started in. All that it asks
// goes to $STOKER_TEST_SERVER, which is told whom it was meant for.
#include <cstdlib>
#include <iostream>

#include "base/json.h"
#include "google/credential_source.h"
#include "net/http_client.h"

namespace stoker {
namespace {

Result<HttpResponse> Send(const std::string& base_url, const HttpRequest& request) {
  STOKER_ASSIGN(const HttpUrl server, ParseHttpUrl(std::getenv("STOKER_TEST_SERVER")));
  HttpRequest sent = request;
  sent.headers.emplace_back("X-Meant-For", base_url);
  STOKER_ASSIGN(HttpResponse response, HttpCall(server, std::move(sent)));
  if (response.status == 599) return Status(Code::kUnavailable, base_url + ": nobody answers");
  return response;
}

nlohmann::json Answer() {
  GoogleEnvironment environment = SystemGoogleEnvironment(Send);
  environment.listens = [](const std::string& base_url) {
    return Send(base_url, {"GET", "/", {{"Metadata-Flavor", "Google"}}, ""}).ok();
  };
  GoogleCredentialSource source(std::move(environment));
  const auto found = source.Get();
  if (!found.ok()) return {{"error", found.status().ToString()}};
  return {{"token", found->secret},
          {"quota", found->quota_project},
          {"who", found->who},
          {"expires", found->expires ? found->expires->ms / 1000 : 0},
          {"described", Describe(*found)}};
}

}  // namespace
}  // namespace stoker

int main() { std::cout << stoker::Answer().dump() << "\n"; }

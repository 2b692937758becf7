// SPDX-License-Identifier: Apache-2.0
// Requests to the services that give tokens; inside google/ only. Sources: RFC 6749 (5.1, 5.2),
// RFC 8693; "generateAccessToken" (IAM Service Account Credentials API).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "google/sources.h"

namespace stoker {

using GoogleForm = std::vector<std::pair<std::string, std::string>>;

// Posts `form` to `url` and reads the token out of the answer. Secrets go over https:// alone, but
// for what is on this machine. kDenied: refused, says the service's reason; kUnavailable: later.
Result<GoogleToken> ExchangeForm(const GoogleLookup& lookup, const std::string& where,
                                 const std::string& url, const GoogleForm& form,
                                 HttpHeaders headers = {});

// A token of the service account of which `url` ends in ":generateAccessToken", asked for with
// `giver`'s. `lifetime` as "3600s".
Result<GoogleToken> Impersonate(const GoogleLookup& lookup, const std::string& where,
                                const std::string& url, const GoogleToken& giver,
                                const nlohmann::json& delegates, const std::string& lifetime);

// The principal of such an address, "" = it is not one.
std::string ImpersonatedBy(const std::string& url);

// One request to a whole address. kInvalid: not an address.
Result<HttpResponse> CallUrl(const GoogleLookup& lookup, const std::string& where,
                             const std::string& url, HttpRequest request);

}  // namespace stoker

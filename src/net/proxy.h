// SPDX-License-Identifier: Apache-2.0
// Which proxy leads to an address, as curl and the clouds' own tools read it from the environment.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "net/http_message.h"

namespace stoker {

struct HttpProxy {
  HttpUrl url;                // of the proxy itself
  std::string authorization;  // "Basic …", "" = none; a secret
};

// https_proxy, HTTPS_PROXY, http_proxy (small letters alone: a CGI program's environment has the
// other from its caller), all_proxy, ALL_PROXY, unless no_proxy or NO_PROXY names the host: a list
// of names that also mean what ends in ".name", numbers, those of IPv6 in brackets or not, blocks
// of them ("10.0.0.0/8", as curl since 7.86 and Go read it), "*", each with ":port" if wanted.
// Nullopt: go straight. kInvalid: a proxy that cannot be used; its password is in no message.
Result<std::optional<HttpProxy>> ProxyFor(
    const HttpUrl& url,
    const std::function<std::optional<std::string>(const std::string& name)>& environment);

}  // namespace stoker

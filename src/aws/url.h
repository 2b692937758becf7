// SPDX-License-Identifier: Apache-2.0
// Addresses that users configure, taken apart; inside aws/ only. Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace stoker {

struct AwsUrl {
  std::string base;  // "https://host[:port]": what HttpSend takes
  std::string host;  // without port and brackets
  std::string host_header;
  std::string target;  // path and query; "" where the URL has none
  bool tls = false;
};

// kInvalid for anything but http:// and https://, and for user names, fragments and white space.
// `what` is where the address came from, for the error.
Result<AwsUrl> ParseAwsUrl(const std::string& what, std::string_view url);

}  // namespace stoker

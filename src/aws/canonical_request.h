// SPDX-License-Identifier: Apache-2.0
// The text that a signature of version 4 covers; inside aws/ only. Pure.
#pragma once

#include <string>
#include <string_view>

#include "net/http_message.h"

namespace stoker {

// ';'-joined, sorted, lower-case names of the headers that are signed: all but those that a client
// or proxy may add or change on the way.
std::string SignedHeaderNames(const HttpHeaders& headers);

// Method, path, query, headers and payload, each in the one form that both sides arrive at.
// `as_is`: the path stays as on the wire (S3); else dots and double slashes are resolved and it is
// encoded once more.
std::string CanonicalRequest(const HttpRequest& request, bool as_is, std::string_view payload_hash);

}  // namespace stoker

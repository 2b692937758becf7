// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "net/http_message.h"

namespace stoker {

// The head of a response whose body follows until the connection is closed, or for as long as its
// Content-Length says. Pure.
std::string EncodeHttpResponseHead(const HttpResponse& response);

}  // namespace stoker

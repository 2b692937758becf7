// SPDX-License-Identifier: Apache-2.0
// Times as HTTP writes them. Pure.
#pragma once

#include <string_view>

#include "base/status.h"
#include "base/time.h"
#include "net/http_message.h"

namespace stoker {

// "Sun, 06 Nov 1994 08:49:37 GMT" (RFC 9110, 5.6.7: what every server of today sends). kCorrupt
// otherwise.
Result<WallTime> ParseHttpDate(std::string_view text);

// The Date header; `otherwise` where there is none.
WallTime DateOf(const HttpHeaders& headers, WallTime otherwise);

// Retry-After: whole seconds, or a date, which counts from `now`. Negative ones are none.
Duration ParseRetryAfter(std::string_view text, WallTime now);

}  // namespace stoker

// SPDX-License-Identifier: Apache-2.0
// What clients of cloud services take from this machine: its variables, its clock, its proxies.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/time.h"
#include "net/http_client.h"
#include "net/http_send.h"

namespace stoker {

// An environment variable; an empty one counts as unset.
std::optional<std::string> SystemVariable(const std::string& name);
WallTime SystemNow();
// For pauses between tries: those of two processes should differ.
uint64_t SystemSeed();

// With proxies from the environment, and the certificates in `ca_file`; "" = the system's.
HttpPoolOptions SystemPoolOptions(std::string ca_file);

// For requests for credentials: to services beside us, which a proxy does not know and which are
// often not there at all, and to the cloud's. 2 s to connect and 20 s for an answer, or what
// `options` say where that is less.
HttpSend SystemCredentialSender(HttpPoolOptions options);

}  // namespace stoker

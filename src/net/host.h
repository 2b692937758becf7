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
std::optional<std::string> HostVariable(const std::string& name);
WallTime HostNow();
// For pauses between tries: those of two processes should differ.
uint64_t HostSeed();

// With proxies from the environment, and the certificates in `ca_file`; "" = the system's.
HttpPoolOptions HostPoolOptions(std::string ca_file);

// For requests for credentials: to services beside us, which a proxy does not know and which are
// often not there at all, and to the cloud's.
HttpSend HostCredentialSender(HttpPoolOptions options);

}  // namespace stoker

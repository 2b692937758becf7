// SPDX-License-Identifier: Apache-2.0
// From a host's name to a connection, by whichever of its addresses answers first. Source: RFC 8305
// ("Happy Eyeballs"), 4 (order of the addresses) and 5 (attempts).
#pragma once

#include <sys/socket.h>

#include <string>
#include <vector>

#include "base/status.h"
#include "base/time.h"
#include "net/socket.h"

namespace stoker {

struct TcpAddress {
  sockaddr_storage at{};
  socklen_t size = 0;
};

// How long an address has before the next one is tried beside it.
inline constexpr Duration kHeadStart = Duration::Ms(250);

// In the order of the system, but IPv6 and IPv4 in turns. Pure.
std::vector<TcpAddress> TakeTurns(const std::vector<TcpAddress>& addresses);

// The first to connect wins; the next is tried when one has failed, or kHeadStart after it. Where
// one family leads nowhere, the other is hardly later. kTimeout: none answered before the deadline;
// else why the last one failed.
Result<Socket> ConnectToAny(const std::vector<TcpAddress>& addresses, const Deadline& deadline);

// `host` may be a name; numbers are tried without any look-up. The look-up is the system's: what it
// takes is lost for connecting, and the deadline cuts it off (a thread of its own goes on until the
// timeouts of resolv.conf are over). kUnavailable, kTimeout.
Result<Socket> ConnectTcp(const std::string& host, int port, const Deadline& deadline);

}  // namespace stoker

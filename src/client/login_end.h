// SPDX-License-Identifier: Apache-2.0
// What systemd ends with a user's login, as far as jobs of this machine are concerned. Sources:
// logind.conf(5), loginctl(1) and user@.service(5) of systemd.
#pragma once

#include <string>
#include <vector>

namespace stoker::client {

struct LoginFacts {
  std::string cgroups;  // the content of /proc/self/cgroup
  std::string user;
  bool lingers = false;
  std::vector<std::string> settings;  // contents of logind.conf and what adds to it, in their order
};

// Of this process. Reads files alone; where there is no systemd, there are no facts.
LoginFacts ThisLogin();

// "" = a job that is begun from here outlives the login, as far as that can be told; else when it
// ends, and what to do. Pure.
std::string TellLoginEnd(const LoginFacts& login);

// The same of what this user's own systemd starts, whoever is logged in (a timer).
std::string TellEndOfOwnSystemd(const LoginFacts& login);

}  // namespace stoker::client

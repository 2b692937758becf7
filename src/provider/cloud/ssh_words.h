// SPDX-License-Identifier: Apache-2.0
// The words that the system's ssh is called with to come to a machine of a cloud. Pure.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace stoker::cloud {

struct SshCall {
  std::string address;
  std::string user;
  std::string alias;        // what its host keys are known by: the machine's id
  std::string identity;     // file of the private key
  std::string known_hosts;  // file that holds them, and nothing else
  std::string command;      // for the machine's shell; "" = a shell
  bool terminal = false;    // with `command`, too
};

// What a shell is given of the words behind "--"; none = "". One goes there as it is, several are
// quoted each.
std::string CommandLine(const std::vector<std::string>& command);

// What a machine's shell runs for a shell in the container of its program, or for `command` there:
// by root, who has the container.
std::string InsideLine(const std::string& command);

// Its own name first. The host key is the one that is known, or nothing is sent.
std::vector<std::string> SshTo(const SshCall& call);

// The lines of the file `known_hosts`. kInvalid: a key is none, so that a report that somebody has
// made up can never add a line of its own.
Result<std::string> KnownHosts(const std::string& alias, const std::vector<std::string>& keys);

// "ubuntu", as `useradd` takes it.
bool IsUserName(const std::string& name);

}  // namespace stoker::cloud

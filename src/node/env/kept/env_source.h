// SPDX-License-Identifier: Apache-2.0
// What a Python environment is built from, whichever machine builds it. Pure.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "job/packed_code.h"

namespace stoker::node {

// Run by the python3 of the PATH: its real path, the platform, and what is installed there.
extern const char kAskMachine[];

struct EnvSource {
  std::string asked;    // of AskPython
  std::string machine;  // what kAskMachine said
  // The file of requirements, and the digest of the code where it names files of that.
  std::string text;
  std::string code_digest;
  std::string setup;  // that runs in it, with the key of its cache; "" = none
  std::string image;  // the id of that whose Python it stands on; "" = on the machine's own
  std::vector<Pin> pins;
  std::vector<std::pair<std::string, std::string>> settings;  // of pip
  std::vector<std::pair<std::string, std::string>> variables;
};

// 64 hex digits; or why it is not shared between machines, in a few words.
struct SharedKey {
  std::string key;
  std::string why_not;
};
SharedKey KeyOfSource(const EnvSource& source);

// `text` without user and password of addresses.
std::string WithoutPasswords(std::string_view text);

}  // namespace stoker::node

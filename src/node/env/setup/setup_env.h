// SPDX-License-Identifier: Apache-2.0
// What `setup` leaves behind: variables for the program, and traces in the user's own files.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "contract/environment.h"

namespace stoker::node {

struct SetupLeft {
  contract::Environment variables;  // the last of each name
  std::vector<std::string> notes;   // what was left out and why, one line each, without values
};

// Makes the empty file that $STOKER_ENV names; what lay there goes.
Status MakeSetupFile(const std::string& path);
// Lines of NAME=VALUE; all after '=' is the value. A file that is gone left nothing.
SetupLeft ReadSetupFile(const std::string& path);

// The files of `home` that shells read. On this machine they are the user's own, and a job's setup
// that appends to them changes them for good, without any use to the program.
class ShellFiles {
 public:
  explicit ShellFiles(const std::string& home);
  // A warning that names those that are not as they were; "" when all are.
  std::string Changed() const;

 private:
  static std::string Stamp(const std::string& path);
  std::string home_;
  std::vector<std::pair<std::string, std::string>> stamps_;
};

}  // namespace stoker::node

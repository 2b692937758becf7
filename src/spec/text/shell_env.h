// SPDX-License-Identifier: Apache-2.0
// Which variables of the submitting shell go with jobs that run on the same machine. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace stoker {

// Names and patterns: what programs heed and what harms nobody. docs/environment.md lists them.
const std::vector<std::string>& DefaultShellNames();

struct ShellChoice {
  std::vector<std::string> take;
  std::vector<std::string> leave;  // these win
  // Never what stoker sets itself, nor what is called like a secret.
  bool Takes(std::string_view name) const;
};

// The setting `shell_env`: words, of which a name or pattern is added to the default, one after a
// '-' is left, and `none` begins with nothing. "" = the default. kInvalid names the wrong word.
Result<ShellChoice> ReadShellChoice(std::string_view setting);

}  // namespace stoker

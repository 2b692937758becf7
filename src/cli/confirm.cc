// SPDX-License-Identifier: Apache-2.0
#include "cli/confirm.h"

#include <unistd.h>

#include <cstdio>

namespace stoker::cli {

bool Confirm(Context& context, const std::string& question) {
  if (!context.err_is_terminal() || ::isatty(STDIN_FILENO) != 1) return false;
  context.Progress(question + " [y/N] ");
  char answer[8] = {};
  return std::fgets(answer, sizeof answer, stdin) != nullptr &&
         (answer[0] == 'y' || answer[0] == 'Y');
}

}  // namespace stoker::cli

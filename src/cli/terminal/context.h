// SPDX-License-Identifier: Apache-2.0
// What every verb needs: who has it done, the terminal, and what was typed.
#pragma once

#include <string>
#include <vector>

#include "cli/terminal/terminal.h"
#include "client/open/client.h"

namespace stoker::cli {

// Not thread-safe except where its parts say so.
class Context : public Terminal, public client::Client {
 public:
  Context() : Client(static_cast<Terminal&>(*this)) {}
  using Terminal::Confirm;
  using Terminal::Progress;
  using Terminal::Say;

  // ---- set by the parser ----
  bool has_command = false;
  std::vector<std::string> command;  // the words after "--"
  std::vector<std::string> given;    // names of options in the order in which they were written
  int exit_code = 0;
};

}  // namespace stoker::cli

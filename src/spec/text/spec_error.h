// SPDX-License-Identifier: Apache-2.0
// What is wrong in a job file or a settings file, and where.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace stoker {

// One mistake. `line` and `column` count from 1, columns in characters; line 0 = not in a file:
// `file` is then the flag ("--env") or the form ("command") that is wrong.
struct SpecError {
  std::string file;
  int line = 0;
  int column = 0;
  std::string text;     // the offending text, shortened
  std::string message;  // what is wrong, with the text in it
  std::string hint;     // what would be right; "" = the message says it
  // "job.yaml:3:5: unknown key 'epohcs'. Did you mean 'epochs'?" on one line, safe for a terminal.
  std::string ToString() const;
  bool operator==(const SpecError&) const = default;
};

// All of them in one Status, one a line and in the order of the file. kUsage when only flags are
// wrong, else kInvalid. `errors` must not be empty.
Status ErrorsToStatus(std::vector<SpecError> errors);

// `text` in single quotes for a message: printable, on one line, at most 60 bytes of it.
std::string Quoted(std::string_view text);

}  // namespace stoker

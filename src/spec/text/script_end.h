// SPDX-License-Identifier: Apache-2.0
// How a shell script ends, as far as can be told without a shell. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stoker {

// A script's exit code is that of its last command, and a pipe's that of its last part.
struct PipeEnd {
  std::string hidden;  // the first command of the pipe whose failure does not count: "python3"
  std::string last;    // the one that alone counts: "tee"
};

// nullopt: it does not end in a pipe, or it speaks of pipefail or PIPESTATUS, or all that comes
// before the last part only feeds it (echo, printf, yes).
std::optional<PipeEnd> EndsInPipe(std::string_view script);

// The words of the script's last command (the last part of a pipe); quotes are not taken off.
std::vector<std::string> LastCommand(std::string_view script);

// The words of the last command of the script that names a program's script ("train.py", `-m
// MODULE`), without quotes and up to a redirection; variables stand as they are. Empty: there is
// none.
std::vector<std::string> ProgramCommand(std::string_view script);

// The script that a command gives to a shell as one word ("bash -c 'a | b'"); "" = none.
std::string ScriptInCommand(const std::vector<std::string>& argv);

// Is it one for a shell, by its name or its first line?
bool IsShellScript(std::string_view path, std::string_view text);

}  // namespace stoker

// SPDX-License-Identifier: Apache-2.0
// The words that the system's ssh is run with. Pure: what stands in them came from settings, and
// goes through a shell on the box.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stoker {

// The machine that the box is started on: `sha256` (64 hex digits) and size of the stoker that is
// to run there.
struct BoxBinary {
  std::string sha256;
  int64_t size = 0;
};

// What `ssh` is called with, its own name first: no terminal, no question, no forwarding, and all
// else as the user's configuration says; host keys are checked as it says. `word`: as IsHostWord.
std::vector<std::string> SshWords(const std::string& word, const std::string& command);

// The command that starts `stoker __box FOLDER` on the box, for whatever login shell: a script of
// /bin/sh without a quote inside. It says one line before that, and what comes before such a line
// is the box's own (a profile that greets):
//   "stoker-box ready"            stoker is there, and answers from now on
//   "stoker-box missing OS ARCH"  it is not: `binary.size` bytes of it are read now, checked by
//                                 their SHA-256 and put in place by a rename; then "ready"
//   "stoker-box failed WHY"       that did not work
std::string BoxCommand(const BoxBinary& binary);

inline constexpr std::string_view kBoxSays = "stoker-box ";

}  // namespace stoker

// SPDX-License-Identifier: Apache-2.0
// What whoever comes to a cloud's machine by ssh must know of it beforehand, as its image has it:
// the keys by which it proves itself, and the user that its image is for. Inside provider/ and by
// the machine's own agent.
#pragma once

#include <string>
#include <vector>

namespace stoker::cloud {

struct SshDoor {
  std::vector<std::string> host_keys;  // "ssh-ed25519 AAAA…": public ones; none = there is no sshd
  std::string user;                    // "ubuntu"; "" = none of those that images have
};

// Of the machine whose files are below `root` ("" = this one).
SshDoor ReadSshDoor(const std::string& root);

// Is `line` one key in sshd's form, without a comment, and safe to be written into a file of them?
bool IsHostKey(const std::string& line);

}  // namespace stoker::cloud

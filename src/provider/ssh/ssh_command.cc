// SPDX-License-Identifier: Apache-2.0
#include "provider/ssh/ssh_command.h"

#include <algorithm>

#include "base/text.h"

namespace stoker {
std::vector<std::string> SshWords(const std::string& word, const std::string& command) {
  std::vector<std::string> words = {"ssh", "-T", "-a", "-x"};
  for (const char* option :
       {"BatchMode=yes", "ConnectTimeout=8", "ServerAliveInterval=5", "ServerAliveCountMax=3",
        // Of the user's configuration for people's sessions: they would fail of the second one.
        "ClearAllForwardings=yes", "RemoteCommand=none", "RequestTTY=no", "ControlMaster=no"}) {
    words.emplace_back("-o");
    words.emplace_back(option);
  }
  words.insert(words.end(), {"--", word, command});
  return words;
}

std::string BoxCommand(const BoxBinary& binary) {
  const std::string size = std::to_string(binary.size);
  const std::string script =
      "umask 077; d=\"$XDG_DATA_HOME\"; "
      "case \"$d\" in /*) ;; *) d=\"$HOME/.local/share\" ;; esac; d=\"$d/stoker\"; "
      "b=\"$d/bin/" +
      binary.sha256 +
      "\"; "
      "if [ -x \"$b/stoker\" ]; then touch \"$b\"; else "
      "echo stoker-box missing $(uname -s) $(uname -m); "
      "mkdir -p \"$b\" && t=$(mktemp \"$b/.new-XXXXXX\") || "
      "{ echo stoker-box failed making \"$b\"; exit 1; }; "
      "head -c " +
      size +
      " > \"$t\"; s=$(sha256sum < \"$t\"); "
      "if [ \"${s%% *}\" != " +
      binary.sha256 +
      " ]; then rm -f \"$t\"; echo stoker-box failed copying: it arrived damaged, or the disk is "
      "full; exit 1; fi; "
      "chmod 700 \"$t\" && mv -f \"$t\" \"$b/stoker\" || "
      "{ echo stoker-box failed renaming \"$t\"; exit 1; }; fi; "
      "echo stoker-box ready; exec \"$b/stoker\" __box \"$d\"";
  return "exec /bin/sh -c '" + script + "'";
}

}  // namespace stoker

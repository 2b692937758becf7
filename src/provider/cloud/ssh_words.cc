// SPDX-License-Identifier: Apache-2.0
#include "provider/cloud/ssh_words.h"

#include "base/text.h"
#include "provider/cloud/cloud_launch.h"
#include "provider/cloud/ssh_door.h"

namespace stoker::cloud {

std::string CommandLine(const std::vector<std::string>& command) {
  if (command.size() == 1) return command[0];
  std::string line;
  for (const std::string& word : command) line += (line.empty() ? "" : " ") + ShellQuote(word);
  return line;
}

std::string InsideLine(const std::string& command) {
  const std::string line =
      std::string("sudo /opt/stoker/stoker __enter ") + kNodeDir + " " + kNodeDir;
  return command.empty() ? line : line + " " + ShellQuote(command);
}

std::vector<std::string> SshTo(const SshCall& call) {
  // Of files, ssh reads several names out of one value: a quoted one is one name.
  std::vector<std::string> words = {"ssh", "-a", "-x", "-i", call.identity, "-l", call.user};
  for (const std::string& option :
       {std::string("IdentitiesOnly=yes"), std::string("StrictHostKeyChecking=yes"),
        std::string("CheckHostIP=no"), std::string("UpdateHostKeys=no"),
        std::string("PasswordAuthentication=no"), std::string("ControlMaster=no"),
        std::string("ControlPath=none"), std::string("ConnectTimeout=15"),
        std::string("ConnectionAttempts=3"), std::string("ServerAliveInterval=30"),
        std::string("LogLevel=ERROR"), "HostKeyAlias=" + call.alias,
        "UserKnownHostsFile=\"" + call.known_hosts + "\"",
        std::string("GlobalKnownHostsFile=/dev/null")}) {
    words.emplace_back("-o");
    words.push_back(option);
  }
  if (call.terminal) words.emplace_back("-t");
  words.insert(words.end(), {"--", call.address});
  if (!call.command.empty()) words.push_back(call.command);
  return words;
}

Result<std::string> KnownHosts(const std::string& alias, const std::vector<std::string>& keys) {
  std::string text;
  for (const std::string& key : keys) {
    if (!IsHostKey(key)) {
      return Status(Code::kInvalid, "the node's report has a host key that is none");
    }
    text += alias + " " + key + "\n";
  }
  return text;
}

bool IsUserName(const std::string& name) {
  return !name.empty() && name.size() <= 32 && name[0] != '-' &&
         name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_-") == std::string::npos;
}

}  // namespace stoker::cloud

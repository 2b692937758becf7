// SPDX-License-Identifier: Apache-2.0
#include "provider/cloud/ssh_door.h"

#include <algorithm>

#include "base/text.h"
#include "sys/file.h"

namespace stoker::cloud {
namespace {

constexpr int64_t kMostKey = 4096;
constexpr int64_t kMostUsers = 1 << 20;
// The best first; the last is told where there is no other, since it is long.
constexpr const char* kKinds[] = {"ed25519", "ecdsa", "rsa"};
constexpr std::string_view kTypes[] = {"ssh-ed25519", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384",
                                       "ecdsa-sha2-nistp521", "ssh-rsa"};
// Of the images of Amazon Linux, Ubuntu, Debian on EC2, Debian, and the rest.
constexpr const char* kUsers[] = {"ec2-user", "ubuntu", "admin",      "debian",  "fedora",
                                  "rocky",    "centos", "cloud-user", "opensuse"};

}  // namespace

bool IsHostKey(const std::string& line) {
  const std::vector<std::string> words = Split(line, ' ');
  if (words.size() != 2 || line.size() > kMostKey) return false;
  const bool known = std::find(std::begin(kTypes), std::end(kTypes), words[0]) != std::end(kTypes);
  return known && !words[1].empty() &&
         words[1].find_first_not_of(
             "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
             "0123456789+/=") == std::string::npos;
}

SshDoor ReadSshDoor(const std::string& root) {
  SshDoor door;
  for (const char* kind : kKinds) {
    if (std::string_view(kind) == "rsa" && !door.host_keys.empty()) break;
    const auto text =
        sys::ReadFile(root + "/etc/ssh/ssh_host_" + std::string(kind) + "_key.pub", kMostKey);
    if (!text.ok()) continue;
    const std::vector<std::string> words = Split(text->substr(0, text->find('\n')), ' ');
    if (words.size() < 2) continue;
    std::string key = words[0] + " " + words[1];
    if (IsHostKey(key)) door.host_keys.push_back(std::move(key));
  }
  const std::string users = "\n" + sys::ReadFile(root + "/etc/passwd", kMostUsers).value_or("");
  for (const char* user : kUsers) {
    if (users.find("\n" + std::string(user) + ":") == std::string::npos) continue;
    door.user = user;
    break;
  }
  return door;
}

}  // namespace stoker::cloud

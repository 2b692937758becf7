// SPDX-License-Identifier: Apache-2.0
#include "provider/cloud/ssh_door.h"

#include <gtest/gtest.h>

#include "sys/file.h"

namespace stoker::cloud {
namespace {

TEST(SshDoor, SaysWhatTheMachinesFilesSay) {
  const sys::TempDir dir = *sys::TempDir::Make("ssh-door");
  EXPECT_TRUE(ReadSshDoor(dir.path()).host_keys.empty());
  const auto put = [&](const std::string& name, const std::string& text) {
    EXPECT_TRUE(sys::MakeDirs(dir.path() + "/etc/ssh", 0700).ok());
    EXPECT_TRUE(sys::WriteFileAtomic(dir.path() + "/etc/" + name, text).ok());
  };
  put("ssh/ssh_host_rsa_key.pub", "ssh-rsa AAAArsa root@ip-1\n");
  EXPECT_EQ(ReadSshDoor(dir.path()).host_keys, (std::vector<std::string>{"ssh-rsa AAAArsa"}));
  put("ssh/ssh_host_ed25519_key.pub", "ssh-ed25519 AAAAed root@ip-1\n");
  put("ssh/ssh_host_ecdsa_key.pub", "* ssh-rsa AAAA\n");
  put("passwd", "root:x:0:0::/root:/bin/sh\nnotubuntu:x:1:1::/:/bin/sh\nadmin:x:1000:1000::/:/\n");
  const SshDoor door = ReadSshDoor(dir.path());
  EXPECT_EQ(door.host_keys, (std::vector<std::string>{"ssh-ed25519 AAAAed"}));
  EXPECT_EQ(door.user, "admin");
}

TEST(SshDoor, AKeyIsOneLineOfOneKey) {
  EXPECT_TRUE(IsHostKey("ssh-ed25519 AAAA+/="));
  for (const char* bad : {"", "ssh-ed25519", "ssh-ed25519 ", "ssh-ed25519 AAAA x", "AAAA ssh-rsa",
                          "ssh-ed25519 AA\nAA", "* ssh-rsa AAAA", "ssh-dss AAAA"}) {
    EXPECT_FALSE(IsHostKey(bad)) << bad;
  }
}

}  // namespace
}  // namespace stoker::cloud

// SPDX-License-Identifier: Apache-2.0
// A folder for one test, and git with a clean environment. For the tests of this room only.
#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "base/digest.h"
#include "sys/command.h"
#include "sys/file.h"

namespace stoker::pack {

// git that reads no configuration of the machine or the user.
inline std::vector<std::string> TestEnvironment() {
  const char* path = std::getenv("PATH");
  return {std::string("PATH=") + (path != nullptr ? path : "/usr/bin:/bin"),
          "HOME=/nonexistent",
          "GIT_CONFIG_NOSYSTEM=1",
          "GIT_AUTHOR_NAME=t",
          "GIT_AUTHOR_EMAIL=t@example.com",
          "GIT_COMMITTER_NAME=t",
          "GIT_COMMITTER_EMAIL=t@example.com",
          "LC_ALL=C"};
}

class TestTree {
 public:
  // In memory where that is to be had: many small files are slow on a disk.
  TestTree()
      : dir_(sys::TempDir::Make("stoker-pack-test", sys::DirExists("/dev/shm") ? "/dev/shm" : "")
                 .value()) {
    for (const std::string& entry : TestEnvironment()) {
      const size_t equals = entry.find('=');
      setenv(entry.substr(0, equals).c_str(), entry.substr(equals + 1).c_str(), 1);
    }
    root_ = dir_.path() + "/work";
    EXPECT_TRUE(sys::MakeDirs(root_).ok());
  }
  const std::string& root() const { return root_; }
  // A place beside the tree.
  std::string Beside(const std::string& name) const { return dir_.path() + "/" + name; }
  std::string At(const std::string& path) const { return root_ + "/" + path; }

  void Write(const std::string& path, const std::string& text, mode_t mode = 0644) {
    const std::string full = At(path);
    EXPECT_TRUE(sys::MakeDirs(full.substr(0, full.rfind('/'))).ok());
    Status status = sys::WriteFileAtomic(full, text, mode, false);
    EXPECT_TRUE(status.ok()) << status.ToString();
  }
  std::string Git(std::vector<std::string> arguments, const std::string& below = "") {
    std::vector<std::string> argv = {"git", "-C", below.empty() ? root_ : At(below), "-c",
                                     "protocol.file.allow=always"};
    argv.insert(argv.end(), arguments.begin(), arguments.end());
    Result<sys::CommandOutput> got =
        std::move(sys::RunCommands({{argv, TestEnvironment()}}, 20000)[0]);
    EXPECT_TRUE(got.ok()) << got.status().ToString();
    if (!got.ok()) return "";
    EXPECT_EQ(got->exit_code, 0) << "git " << arguments[0] << ": " << got->err;
    return got->out;
  }

 private:
  sys::TempDir dir_;
  std::string root_;
};

inline std::string Text(const std::string& path) {
  return sys::ReadFile(path).value_or("<unreadable>");
}

// Everything that an archive must carry, as text: kinds, modes, times, contents, targets.
inline std::string Snapshot(const std::string& root, const std::string& below = "") {
  std::string out;
  const std::vector<sys::DirEntry> entries = sys::ListDir(root + "/" + below).value();
  for (const sys::DirEntry& entry : entries) {
    const std::string path = below.empty() ? entry.name : below + "/" + entry.name;
    const std::string full = root + "/" + path;
    struct stat info;
    EXPECT_EQ(lstat(full.c_str(), &info), 0);
    out += path + " " + std::to_string(info.st_mode) + " ";
    if (entry.is_dir) {
      out += "dir\n" + Snapshot(root, path);
      continue;
    }
    out += std::to_string(info.st_mtim.tv_sec) + "." + std::to_string(info.st_mtim.tv_nsec) + " ";
    char target[4096] = {};
    if (entry.is_link && readlink(full.c_str(), target, sizeof(target) - 1) > 0) out += target;
    if (entry.is_file) out += std::to_string(info.st_nlink) + " " + Sha256Hex(Text(full));
    out += "\n";
  }
  return out;
}

}  // namespace stoker::pack

// SPDX-License-Identifier: Apache-2.0
// A folder for one test, and git with a clean environment. For the tests of this room only.
#pragma once

#include <cstdlib>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "pack/command.h"
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
  TestTree() : dir_(sys::TempDir::Make("stoker-pack-test").value()) {
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
    Result<CommandOutput> got = std::move(RunCommands({{argv, TestEnvironment()}}, 20000)[0]);
    EXPECT_TRUE(got.ok()) << got.status().ToString();
    if (!got.ok()) return "";
    EXPECT_EQ(got->exit_code, 0) << "git " << arguments[0] << ": " << got->err;
    return got->out;
  }

 private:
  sys::TempDir dir_;
  std::string root_;
};

}  // namespace stoker::pack

// SPDX-License-Identifier: Apache-2.0
#include "sys/program_lookup.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sys/file.h"

namespace stoker {
namespace {

std::string Why(const std::string& name, const std::string& cwd) {
  const Status status = FindProgram(name, "/usr/bin:/bin", cwd).status();
  return (status.Is(Code::kDenied) ? "denied " : "") + status.message();
}

TEST(ProgramLookup, AFullPathIsInNoFolder) {
  EXPECT_EQ(Why("/no/such/python3", "/work"), "/no/such/python3: no such file");
  EXPECT_EQ(Why("bin/python3", "/work"), "bin/python3: no such file in /work");
}

// A virtual environment whose python3 leads into root's home: it is there, and of no use.
TEST(ProgramLookup, OutOfReachIsNotMissing) {
  const auto dir = sys::TempDir::Make("reach").value();
  const std::string home = dir.path() + "/home";
  const std::string link = dir.path() + "/python3";
  ASSERT_EQ(mkdir(home.c_str(), 0700), 0);
  ASSERT_TRUE(sys::WriteFileAtomic(home + "/python3", "#!/bin/sh\n", 0755, false).ok());
  ASSERT_EQ(symlink((home + "/python3").c_str(), link.c_str()), 0);
  ASSERT_EQ(chmod(dir.path().c_str(), 0755), 0);
  const bool root = geteuid() == 0;
  ASSERT_EQ(root ? seteuid(65534) : chmod(home.c_str(), 0), 0);
  const std::string why = Why(link, "/");
  ASSERT_EQ(root ? seteuid(0) : chmod(home.c_str(), 0700), 0);
  EXPECT_EQ(why,
            "denied " + link + ": it, or what it links to, lies where this user may not enter");
}

}  // namespace
}  // namespace stoker

// SPDX-License-Identifier: Apache-2.0
#include "sys/start_pages.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "sys/file.h"

namespace stoker {
namespace {

// In KiB: pages of files that this process has mapped.
long MappedFilePages() {
  const std::string text = sys::ReadFile("/proc/self/status").value_or("");
  const size_t at = text.find("RssFile:");
  return at == text.npos ? 0 : std::strtol(text.c_str() + at + 8, nullptr, 10);
}

TEST(StartPages, AreFewerAfterwardsAndComeBackWhenNeeded) {
  const long before = MappedFilePages();
  ASSERT_GT(before, 0);
  LetGoOfStartPages();
  EXPECT_LT(MappedFilePages(), before);
  EXPECT_EQ(std::string("a constant of the file") + "!", "a constant of the file!");
}

}  // namespace
}  // namespace stoker

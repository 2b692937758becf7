// SPDX-License-Identifier: Apache-2.0
#include "client/fetch/in_the_way.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/digest.h"
#include "sys/file.h"

namespace stoker::client {
namespace {

ManifestFile FileOf(const std::string& text) {
  ManifestFile file;
  file.size = static_cast<int64_t>(text.size());
  file.sha256 = Sha256Hex(text);
  return file;
}

TEST(InTheWay, EachKindOfWhatMayLieThere) {
  auto made = sys::TempDir::Make("in-the-way");
  ASSERT_TRUE(made.ok());
  const std::string at = made->path();
  ASSERT_TRUE(sys::MakeDirs(at + "/folder").ok());
  ASSERT_TRUE(sys::WriteFileAtomic(at + "/folder/file", "text").ok());
  ASSERT_EQ(symlink("folder", (at + "/link").c_str()), 0);
  ManifestFile link;
  link.kind = FileKind::kLink;
  link.target = "folder";
  ManifestFile empty;
  empty.kind = FileKind::kDirectory;
  const auto lies = [&](const std::string& path, const ManifestFile& wanted) {
    const auto found = LookInTheWay(at, path, wanted);
    EXPECT_TRUE(found.ok()) << found.status().ToString();
    return found->lies;
  };
  EXPECT_EQ(lies("new", FileOf("text")), Lies::kNothing);
  EXPECT_EQ(lies("no/such/folder", FileOf("text")), Lies::kNothing);
  EXPECT_EQ(lies("folder/file", FileOf("text")), Lies::kSame);
  EXPECT_EQ(lies("folder/file", FileOf("TEXT")), Lies::kOther) << "of the same size";
  EXPECT_EQ(lies("folder/file", FileOf("longer")), Lies::kOther);
  EXPECT_EQ(lies("folder/file", link), Lies::kOther);
  EXPECT_EQ(lies("folder/file/below", FileOf("text")), Lies::kOther);
  EXPECT_EQ(lies("folder", FileOf("text")), Lies::kFolder);
  EXPECT_EQ(lies("folder", empty), Lies::kSame);
  EXPECT_EQ(lies("link", link), Lies::kSame);
  link.target = "elsewhere";
  EXPECT_EQ(lies("link", link), Lies::kOther);
  EXPECT_EQ(lies("link/file", FileOf("text")), Lies::kOther) << "the link leads to just this file";
}

}  // namespace
}  // namespace stoker::client

// SPDX-License-Identifier: Apache-2.0
#include "spec/text/git/repository.h"

#include <gtest/gtest.h>

namespace stoker {
namespace {

TEST(Repository, IsOneWordAndComesBack) {
  const Repository all[] = {{"https://host/a/b.git", ""},
                            {"https://host/a/b.git", "v1.2/x"},
                            {"git@host:a/b", "0123456789abcdef0123456789abcdef01234567"},
                            {"ssh://git@host:2222/a", "main"},
                            {"file:///srv/a b's/c", ""}};
  for (const Repository& each : all) {
    const auto back = RepositoryOf(WordOf(each));
    ASSERT_TRUE(back) << each.url;
    EXPECT_EQ(*back, each);
  }
  for (const char* path : {"", "/a#b", "~/x", ".", "./a@b:c", "a/b", "code", "s3://a/b"}) {
    EXPECT_FALSE(RepositoryOf(path)) << path;
  }
}

}  // namespace
}  // namespace stoker

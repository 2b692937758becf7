// SPDX-License-Identifier: Apache-2.0
// docs/refusals.md has the tables that the code goes by.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "provider/ec2/api/ec2_errors.h"
#include "provider/gce/gce_errors.h"

namespace stoker {
namespace {

constexpr char kPage[] = "docs/refusals.md";  // tests run in the checkout

std::string Page() {
  std::ifstream in(kPage);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

// The page with `table` behind the heading.
std::string With(const std::string& page, const std::string& heading, const std::string& table) {
  const size_t begin = page.find("\n" + heading + "\n\n");
  if (begin == std::string::npos) return "";
  const size_t from = begin + heading.size() + 3;
  const size_t end = page.find("\n\n", from);
  return page.substr(0, from) + table + (end == std::string::npos ? "" : page.substr(end + 1));
}

TEST(RefusalsPage, HasTheTablesThatTheCodeGoesBy) {
  const std::string page = Page();
  std::string wanted = With(page, "## Amazon EC2", cloud::RefusalTable(ec2::RefusalRows()));
  wanted = With(wanted, "## Google Compute Engine", cloud::RefusalTable(gce::RefusalRows()));
  const bool writes = std::getenv("WRITE_DOCS") != nullptr;
  if (writes) std::ofstream(kPage) << wanted;
  EXPECT_TRUE(page == wanted || writes) << "write it anew: WRITE_DOCS=1 " << kPage;
}

TEST(RefusalsPage, EachRowSaysWhatToDo) {
  for (const auto& rows : {ec2::RefusalRows(), gce::RefusalRows()}) {
    for (const cloud::RefusalRow& row : rows) {
      EXPECT_FALSE(row.next.empty()) << row.code << row.says;
      EXPECT_LE(row.code.size() + row.next.size() + 60, kMostRefusalText) << row.code;
      // A cell of a table.
      EXPECT_EQ(row.next.find('|'), std::string_view::npos) << row.code;
    }
  }
}

}  // namespace
}  // namespace stoker

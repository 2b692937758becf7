// SPDX-License-Identifier: Apache-2.0
#include "cli/words/ran_text.h"

#include <gtest/gtest.h>

namespace stoker::cli {
namespace {

TEST(RanText, OfAContainerItsImageAndThatItsPackagesAreNotLookedAt) {
  Job job;
  job.id = "abcd2345";
  job.name = "digits";
  Ran ran;
  ran.facts.attempt = 1;
  ran.facts.image = "localhost/a:1";
  ran.facts.image_id = std::string(64, 'a');
  const std::string text = RanText(job, {ran});
  EXPECT_NE(text.find("container     localhost/a:1 (aaaaaaaaaaaa)"), std::string::npos) << text;
  EXPECT_NE(text.find("of a container are not looked at"), std::string::npos) << text;
  EXPECT_EQ(text.find("none was seen"), std::string::npos) << text;
}

}  // namespace
}  // namespace stoker::cli

// SPDX-License-Identifier: Apache-2.0
#include "client/rights.h"

#include <gtest/gtest.h>

#include <string>

#include "base/json.h"
#include "provider/registry.h"
#include "sys/file.h"

namespace stoker::client {
namespace {

Rights Two() {
  Rights rights;
  rights.files = {{"submitter.json", "people", "{1}"}, {"node.json", "machines", "{2}"}};
  rights.commands = {"type FOLDER/submitter.json and FOLDER/node.json"};
  return rights;
}

class RightsFiles : public ::testing::Test {
 protected:
  std::string Text(const std::string& name) const {
    return sys::ReadFile(folder_ + "/" + name).value_or("none");
  }
  const sys::TempDir above_ = *sys::TempDir::Make();
  const std::string folder_ = above_.path() + "/new/iam";
};

TEST_F(RightsFiles, AreWrittenOnceAndFoundAgain) {
  const auto first = WriteRights(Two(), folder_);
  ASSERT_TRUE(first.ok()) << first.status().ToString();
  EXPECT_TRUE(first->at(0).anew && first->at(1).anew);
  EXPECT_EQ(first->at(1).path, folder_ + "/node.json");
  EXPECT_EQ(Text("node.json"), "{2}\n");
  const auto again = WriteRights(Two(), folder_);
  ASSERT_TRUE(again.ok()) << again.status().ToString();
  EXPECT_FALSE(again->at(0).anew || again->at(1).anew);
  EXPECT_EQ(sys::ListDir(folder_)->size(), 2u);  // nothing unfinished stays beside them
}

TEST_F(RightsFiles, NeverOverwriteWhatSaysSomethingElse) {
  ASSERT_TRUE(sys::MakeDirs(folder_).ok());
  ASSERT_TRUE(sys::WriteFileAtomic(folder_ + "/node.json", "mine").ok());
  const auto told = WriteRights(Two(), folder_);
  EXPECT_EQ(told.code(), Code::kExists);
  EXPECT_NE(told.status().message().find("node.json"), std::string::npos);
  EXPECT_EQ(Text("node.json"), "mine");
  EXPECT_EQ(Text("submitter.json"), "none");  // all of them, or none
}

TEST_F(RightsFiles, AreNamedInCommandsWhereTheyLie) {
  Rights rights = Two();
  rights.Fill(kRightsFolder, "FOLDERS/x");  // a name that has the word itself
  EXPECT_EQ(rights.commands.front(), "type FOLDERS/x/submitter.json and FOLDERS/x/node.json");
}

// Each cloud's own words, for the topics that the settings name alone.
TEST(RightsOfTopics, AreThoseOfTheSettings) {
  Rights rights;
  AllowTopics({{"webhook", "https://a/", {}}}, &rights);
  EXPECT_TRUE(rights.files.empty() && rights.commands.empty());
  const std::string arn = "arn:aws:sns:us-east-1:123456789012:t";
  AllowTopics({{"sns", arn, {}}, {"pubsub", "projects/p/topics/t", {}}}, &rights);
  ASSERT_EQ(rights.files.size(), 1U);
  const auto policy = nlohmann::json::parse(rights.files[0].text);
  EXPECT_EQ(policy["Statement"][0]["Action"], "sns:Publish");
  EXPECT_EQ(policy["Statement"][0]["Resource"], nlohmann::json::array({arn}));
  ASSERT_EQ(rights.commands.size(), 4U);
  EXPECT_NE(rights.commands[0].find("file://FOLDER/notify-sns.json"), std::string::npos);
  EXPECT_NE(rights.commands[2].find("binding projects/p/topics/t "), std::string::npos);
}

}  // namespace
}  // namespace stoker::client

// SPDX-License-Identifier: Apache-2.0
#include "provider/gce/gce_rights.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "base/text.h"

namespace stoker {
namespace {

bool Has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// A project has secrets of others, too.
TEST(GceRights, ReachNoSecretButStokers) {
  auto rights = AddGceRights({}, "gs://ours/a", "p", "");
  ASSERT_TRUE(rights.ok()) << rights.status().ToString();
  for (const char* project : {kSubmitterFile, kNodeFile}) {
    EXPECT_FALSE(Has(*rights->Find(project), "secretmanager.versions"));
    EXPECT_FALSE(Has(*rights->Find(project), "secretmanager.secrets.delete"));
  }
  EXPECT_TRUE(Has(*rights->Find("node-secrets.json"), "secretmanager.versions.access"));
  EXPECT_FALSE(Has(*rights->Find("submitter-secrets.json"), "secretmanager.versions.access"));
  int made = 0;
  int bound = 0;
  for (const std::string& command : rights->commands) {
    made += Has(command, "-secrets.json") && StartsWith(command, "gcloud iam roles create ");
    if (!Has(command, "add-iam-policy-binding p ") || !Has(command, "Secrets ")) continue;
    ++bound;
    EXPECT_TRUE(EndsWith(command,
                         R"( --condition='expression=resource.name.extract("secrets/{name}"))"
                         R"(.startsWith("stoker-"),title=stoker')"))
        << command;
  }
  EXPECT_EQ(made, 2);
  EXPECT_EQ(bound, 2);
}

}  // namespace
}  // namespace stoker

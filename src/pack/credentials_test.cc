// SPDX-License-Identifier: Apache-2.0
#include "pack/credentials.h"

#include <gtest/gtest.h>

#include "pack/exclusions.h"

namespace stoker::pack {
namespace {

// Made up, and cut in two so that no scanner, ours included, takes this file for a leak.
const std::string kRandom = "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3z5A7bC9";

std::string Found(const std::string& text) {
  std::optional<CredentialFinding> found = FindCredential(text);
  return found.has_value() ? std::to_string(found->line) + " " + found->what : "";
}

TEST(Credentials, FindsTheCommonForms) {
  const std::string pem = std::string("-----BEGIN ") + "PRIVATE KEY-----";
  EXPECT_EQ(Found("a\nb = 'ghp_" + kRandom.substr(0, 36) + "'\n"),
            "2 a GitHub personal access token");
  EXPECT_EQ(Found("github_pat_11AAAAAAA0" + kRandom + kRandom), "1 a GitHub personal access token");
  EXPECT_EQ(Found("token: hf_" + kRandom.substr(0, 34)), "1 a Hugging Face token");
  EXPECT_EQ(Found("OPENAI=sk-" + kRandom + "12345678"), "1 an OpenAI key");
  EXPECT_EQ(Found("OPENAI=sk-proj-" + kRandom + "_-x"), "1 an OpenAI key");
  EXPECT_EQ(Found("xoxb-123456789012-123456789012-" + kRandom.substr(0, 24)), "1 a Slack token");
  EXPECT_EQ(Found("\n\n" + pem + "\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQ\n"),
            "3 a private key");
  EXPECT_EQ(Found("{\"type\": \"service_account\", \"private_key\": \"" + pem +
                  "\\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQ\\n"),
            "1 the key of a Google service account");
  EXPECT_EQ(Found("aws_access_key_id = AKIAQ3EGPXW7ABCDE5XY\naws_secret_access_key = " + kRandom),
            "1 an AWS access key with its secret");
}

TEST(Credentials, LeavesOrdinaryTextAlone) {
  EXPECT_EQ(Found("AKIAQ3EGPXW7ABCDE5XY alone is no secret"), "");
  EXPECT_EQ(Found("AKIAIOSFODNN7EXAMPLE\nwJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"), "");
  EXPECT_EQ(Found("AKIAQ3EGPXW7ABCDE5XY 7b2e4d0c9f8a1b3c5d7e9f0a2b4c6d8e0f1a3b5c"), "")
      << "a hash of git is 40 characters too";
  EXPECT_EQ(Found("if '-----BEGIN PRIVATE KEY-----' in text: pass"), "");
  EXPECT_EQ(Found("ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"), "");
  EXPECT_EQ(Found("export HF_TOKEN=hf_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"), "");
  EXPECT_EQ(Found("task-risk-sk-learn sk-0123456789"), "");
  EXPECT_EQ(Found("disk-" + kRandom + "12345678"), "");
  EXPECT_EQ(Found("hf_hub_download hf_transfer xoxo"), "");
  EXPECT_EQ(Found("k = 'ghp_" + kRandom.substr(0, 36) + "'  # stoker:not-a-secret"), "");
  EXPECT_EQ(Found(std::string("\0", 1) + "ghp_" + kRandom.substr(0, 36)), "") << "not text";
  EXPECT_EQ(Found(""), "");
  EXPECT_EQ(Found("-----BEGIN "), "");
  EXPECT_EQ(Found("AKIA"), "");
}

TEST(Credentials, ADecoyDoesNotHideTheNext) {
  EXPECT_EQ(Found("ghp_short\nghp_" + kRandom.substr(0, 36)), "2 a GitHub personal access token");
}

TEST(Exclusions, ByName) {
  EXPECT_EQ(ExcludedName(".git"), Exclusion::kQuiet);
  EXPECT_EQ(ExcludedName(".gitignore"), Exclusion::kNone);
  EXPECT_EQ(ExcludedName(".env.production"), Exclusion::kSecret);
  EXPECT_EQ(ExcludedName("env.py"), Exclusion::kNone);
  EXPECT_EQ(ExcludedName("id_rsa"), Exclusion::kSecret);
  EXPECT_EQ(ExcludedName("id_rsa.pub"), Exclusion::kNone);
  EXPECT_EQ(ExcludedPath("a/.ssh/config"), Exclusion::kSecret);
  EXPECT_EQ(ExcludedPath("a/b/c"), Exclusion::kNone);
}

}  // namespace
}  // namespace stoker::pack

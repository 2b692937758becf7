// SPDX-License-Identifier: Apache-2.0
#include "spec/text/secrets.h"

#include <gtest/gtest.h>

#include "spec/parse.h"
#include "spec/print.h"

namespace stoker {
namespace {

// Put together here, so that no scanner takes this file for a leak.
std::string Fake(const std::string& prefix, const std::string& rest) { return prefix + rest; }

const std::string kMixed = "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5hJ7";

TEST(Secrets, KnownFormatsAnywhereInText) {
  const std::vector<std::string> secrets = {
      Fake("AKIA", "IOSFODNN7EXAMPLE"),
      Fake("hf_", kMixed),
      Fake("ghp_", kMixed),
      Fake("github_pat_", kMixed + kMixed),
      Fake("sk-", kMixed),
      Fake("sk-proj-", kMixed),
      Fake("xoxb-", "123456789012-abcdefghijkl"),
      Fake("AIza", kMixed),
      Fake("-----BEGIN RSA ", "PRIVATE KEY-----\nMII"),
      Fake("-----BEGIN ", "PRIVATE KEY-----"),
      Fake("postgres://ada:", "hunter2@db/x"),
  };
  for (const std::string& secret : secrets) {
    EXPECT_NE(SecretInText(secret), "") << secret;
    EXPECT_NE(SecretInText("export X='" + secret + "'\npython train.py"), "") << secret;
    EXPECT_NE(SecretInEnv("HARMLESS", secret), "") << secret;
  }
}

TEST(Secrets, OrdinaryTextIsLeftAlone) {
  for (const char* text :
       {"", "python train.py --task-name sk-learn", "risk-aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5",
        "hf_transfer", "hf_hub_download(repo)", "AKIA", "https://example.org:8080/a@b",
        "http://proxy:3128", "https://$USER:$PASS@host/x", "git@github.com:a/b",
        "-----BEGIN CERTIFICATE-----",
        "7f83b1657ff1fc53b92dc18148a1d65dfc2d4b1fa3d677284addd200126d9069", "cat ~/.hf_token",
        "echo ghp_short"}) {
    EXPECT_EQ(SecretInText(text), "") << text;
  }
}

TEST(Secrets, NamesTell) {
  for (const char* name : {"AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "HF_TOKEN", "TOKEN",
                           "hf_token", "DB_PASSWORD", "PGPASSWORD", "WANDB_API_KEY",
                           "OPENAI_APIKEY", "CLIENT_SECRET", "SSH_PRIVATE_KEY", "GITHUB_TOKEN"}) {
    EXPECT_NE(SecretInEnv(name, "x"), "") << name;
    EXPECT_EQ(SecretInEnv(name, ""), "") << name;
  }
  for (const char* name : {"PATH", "TOKENIZERS_PARALLELISM", "PAD_TOKEN", "TOKENIZER_EOS_TOKEN",
                           "MAX_TOKENS", "HF_TOKEN_PATH", "PASSWORD_FILE", "KEY", "MONKEY",
                           "GOOGLE_APPLICATION_CREDENTIALS", "MASTER_PORT"}) {
    EXPECT_EQ(SecretInEnv(name, "x"), "") << name;
  }
}

// The refusal must not print what it refuses.
TEST(Secrets, WhatNobodyNamedIsLeftWhereItMayBeOne) {
  for (const auto& [name, value] : {std::pair("PASS", "letmein"),
                                    {"MY_PWD", "x"},
                                    {"db_creds", "{}"},
                                    {"COOKIE", "a=b"},
                                    {"HF_TOKEN", "x"},
                                    {"SIGNING_KEY", "abc"},
                                    {"SENTRY_DSN", "https://a@b/1"},
                                    {"NOTIFY", "https://hooks.slack.com/services/T/B/x"},
                                    {"DATA_URL", "https://host/blob?sv=1&sig=abc"}}) {
    EXPECT_TRUE(MayBeSecret(name, value)) << name;
  }
  for (const auto& [name, value] : {std::pair("EPOCHS", "3"),
                                    {"MAX_TOKENS", "2048"},
                                    {"PAD_TOKEN", "<pad>"},
                                    {"PASS", "2"},
                                    {"PASSAGES", "x"},
                                    {"AUTHOR", "me"},
                                    {"KEYBOARD", "de"},
                                    {"DATA", "s3://bucket/data"},
                                    {"LR", "3e-4"},
                                    {"SECRET", ""}}) {
    EXPECT_FALSE(MayBeSecret(name, value)) << name;
  }
}

TEST(Secrets, NeverInMessages) {
  const std::string secret = Fake("hf_", kMixed);
  for (const std::string& text :
       {"envs: {A: " + secret + "}\nrun: x", "run: export A=" + secret,
        "setup: export A=" + secret + "\nrun: x", "hyperparameters: {a: [" + secret + "]}\nrun: x",
        "command: [x, " + secret + "]"}) {
    const ParsedSpec parsed = ParseJobSpecAll(text, ParseOptions{});
    ASSERT_EQ(parsed.errors.size(), 1u) << text;
    EXPECT_NE(parsed.errors[0].message.find("Hugging Face"), std::string::npos);
    EXPECT_NE(parsed.errors[0].hint.find("secrets: ["), std::string::npos);
    EXPECT_EQ(parsed.errors[0].ToString().find(secret), std::string::npos);
    EXPECT_EQ(parsed.errors[0].text.find(secret), std::string::npos);
  }
  ParseOptions options;
  options.overrides.envs = {"A=" + secret};
  EXPECT_EQ(ParseJobSpec("run: x", options).status().message().find(secret), std::string::npos);
}

TEST(Secrets, WhereTheyLieAlreadyIsNoSecret) {
  const auto spec = ParseJobSpec(
      "secrets:\n  A: null\n  B: ssm:/team/hf\n  C: aws-secret:team/wandb#key\n"
      "  D: gcp-secret:projects/p/secrets/s/versions/5\nrun: x",
      {});
  ASSERT_TRUE(spec.ok()) << spec.status().ToString();
  const std::vector<SecretSpec> all = {{"A", ""},
                                       {"B", "ssm:/team/hf"},
                                       {"C", "aws-secret:team/wandb#key"},
                                       {"D", "gcp-secret:projects/p/secrets/s/versions/5"}};
  EXPECT_EQ(spec->secrets, all);
  EXPECT_EQ(ParseStoredSpec(PrintJobSpec(*spec))->secrets, all);
  EXPECT_EQ(OwnSecretNames(*spec), std::vector<std::string>{"A"});
  ParseOptions options;
  options.overrides.secrets = {"A=ssm:/team/a", "B"};
  const auto flagged = ParseJobSpec("secrets: {B: 'ssm:/team/hf'}\nrun: x", options);
  ASSERT_TRUE(flagged.ok()) << flagged.status().ToString();
  EXPECT_EQ(flagged->secrets, (std::vector<SecretSpec>{{"A", "ssm:/team/a"}, {"B", ""}}));
  for (const char* bad : {"ssm:", "ssm:/a b", "ssm:/a/../b", "ssm:/a;b", "aws-secret:a#",
                          "gcp-secret:s", "gcp-secret:projects/p/secrets/s/versions",
                          "gcp-secret:projects//secrets/s", "ssm:/a?b", "ssm:/$(id)"}) {
    EXPECT_FALSE(ParseJobSpec(std::string("secrets: {A: '") + bad + "'}\nrun: x", {}).ok()) << bad;
  }
  const auto value = ParseJobSpec("secrets: {A: hunter2}\nrun: x", {});
  ASSERT_FALSE(value.ok());
  EXPECT_EQ(value.status().ToString().find("hunter2"), std::string::npos);
}

TEST(Secrets, NamesThatNoServiceHas) {
  for (const char* bad :
       {"ssm:team/hf", "ssm:/", "ssm:/team/", "ssm:/a//b", "ssm:arn:aws:ssm::1:parameter/x",
        "ssm:arn:aws:s3:eu-west-1:1:parameter/x",
        "aws-secret:arn:aws:secretsmanager:eu-west-1:1"}) {
    const std::string text = std::string("secrets: {A: '") + bad + "'}\nrun: x";
    const auto refused = ParseJobSpec(text, {});
    ASSERT_FALSE(refused.ok()) << bad;
    EXPECT_NE(refused.status().ToString().find("Write "), std::string::npos) << bad;
    EXPECT_TRUE(ParseStoredSpec(text).ok()) << "an older stoker took it: " << bad;
  }
  for (const char* good :
       {"ssm:hf", "ssm:/team/hf:3", "ssm:arn:aws:ssm:eu-west-1:1:parameter/team/hf",
        "aws-secret:team/hf", "aws-secret:arn:aws:secretsmanager:eu-west-1:1:secret:x-1"}) {
    EXPECT_TRUE(ParseJobSpec(std::string("secrets: {A: '") + good + "'}\nrun: x", {}).ok()) << good;
  }
}

TEST(Secrets, AMapInAListIsToldHowAMapLooks) {
  const std::string from = "gcp-secret:projects/p/secrets/s";
  const auto refused = ParseJobSpec("secrets: [{HF_TOKEN: '" + from + "'}]\nrun: x", {});
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.status().ToString().find("secrets: {HF_TOKEN: " + from + "}"),
            std::string::npos)
      << refused.status().ToString();
  const auto value = ParseJobSpec("secrets: [{HF_TOKEN: hunter2}]\nrun: x", {});
  ASSERT_FALSE(value.ok());
  EXPECT_EQ(value.status().ToString().find("hunter2"), std::string::npos);
}

TEST(Secrets, ACommandWithASecretIsRefused) {
  const auto refused = SpecFromCommand({"python3", "train.py", "--hub-token", "hunter2"}, {});
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.status().ToString().find("--secret HUB_TOKEN"), std::string::npos)
      << refused.status().ToString();
  EXPECT_EQ(refused.status().ToString().find("hunter2"), std::string::npos);
  const auto script =
      ParseJobSpec("run: |\n  cd src\n  python train.py --hub-token hunter2 | tee log\n", {});
  ASSERT_FALSE(script.ok());
  EXPECT_NE(script.status().ToString().find("--secret HUB_TOKEN"), std::string::npos);
  EXPECT_EQ(script.status().ToString().find("hunter2"), std::string::npos);
  EXPECT_TRUE(ParseJobSpec("run: python train.py --hub-token $HUB_TOKEN", {}).ok());
}

TEST(Command, BracesAreFilledWhereTheValueIsGiven) {
  ParseOptions options;
  options.overrides.hyperparameters = {"lr=0.1"};
  const auto filled =
      SpecFromCommand({"python3", "train.py", "--lr={lr}", "{other}", "${lr} {lr}{lr}"}, options);
  ASSERT_TRUE(filled.ok()) << filled.status().ToString();
  EXPECT_EQ(filled->argv[2], "--lr=0.1");
  EXPECT_EQ(filled->argv[3], "{other}");
  EXPECT_EQ(filled->argv[4], "${lr} 0.10.1") << "a shell's variable is left alone";
}

TEST(Command, OneRunOfWandbIsKept) {
  const auto spec = ParseJobSpec("run: x\nwandb: {one_run: true}", {});
  ASSERT_TRUE(spec.ok()) << spec.status().ToString();
  EXPECT_TRUE(spec->wandb_one_run);
  EXPECT_TRUE(ParseStoredSpec(PrintJobSpec(*spec))->wandb_one_run);
}

TEST(Whom, IsToldWithoutWhatLetsIn) {
  NotifySpec to;
  to.kind = "ntfy";
  to.to = "https://ntfy.sh/my-own-topic";
  EXPECT_EQ(Whom(to), "ntfy https://ntfy.sh/…");
  to.to = "https://box?key=A/B";
  EXPECT_EQ(Whom(to), "ntfy https://box/…");
  to.to = "https://box:8080";
  EXPECT_EQ(Whom(to), "ntfy https://box:8080");
  to = {"webhook", "$HOOK", {}, {}};
  EXPECT_EQ(Whom(to), "webhook $HOOK");
  to = {"pubsub", "projects/p/topics/t", {}, {}};
  EXPECT_EQ(Whom(to), "pubsub projects/p/topics/t");
}

}  // namespace
}  // namespace stoker

// SPDX-License-Identifier: Apache-2.0
#include "aws/config.h"

#include <gtest/gtest.h>

#include "aws/url.h"
#include "test/kit/aws_environment.h"

namespace stoker {
namespace {

TEST(Ini, ReadsWhatRawConfigParserReads) {
  const auto ini = ParseIni("f",
                            "\xef\xbb\xbf# comment\n; too\n[default]  \r\n  Region = eu-west-1\r\n"
                            "  output:json\n\n[profile x y]\nurl = https://h/?a=b # kept\n"
                            "s3 =\n  endpoint_url = http://h\n\n  # comment\n  Max = 3\n"
                            "empty =\nlong = a\n  b\n[profile x y]\nurl=2\n");
  ASSERT_TRUE(ini.ok()) << ini.status().ToString();
  EXPECT_EQ(ini->at("default"), (IniSection{{"region", "eu-west-1"}, {"output", "json"}}));
  EXPECT_EQ(ini->at("profile x y"), (IniSection{{"url", "2"},
                                                {"s3", ""},
                                                {"s3.endpoint_url", "http://h"},
                                                {"s3.max", "3"},
                                                {"empty", ""},
                                                {"long", "a\nb"}}));
}

TEST(Ini, NamesTheBadLineAndNotItsText) {
  for (const char* text : {"[a]\n\nhush hush\n", "\n\nkey = hush\n", "[a]\nb = 1\n= hush\n"}) {
    const auto ini = ParseIni("/f", text);
    ASSERT_EQ(ini.code(), Code::kInvalid) << text;
    EXPECT_NE(ini.status().message().find("/f:3: "), std::string::npos);
    EXPECT_EQ(ini.status().ToString().find("hush"), std::string::npos);
  }
}

TEST(Ini, ShellWords) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(*ShellWords("a 'b c' \"d \\\" \\n\"e f\\ g '' "),
            (Words{"a", "b c", "d \" \\ne", "f g", ""}));
  EXPECT_EQ(*ShellWords("  "), Words{});
  EXPECT_EQ(ShellWords("a 'b").code(), Code::kInvalid);
}

TEST(AwsUrl, IsTakenApart) {
  const auto url = ParseAwsUrl("x", "http://[fd00:ec2::23]:8080/v1?id=2");
  ASSERT_TRUE(url.ok());
  EXPECT_EQ(url->base, "http://[fd00:ec2::23]:8080");
  EXPECT_EQ(url->host, "fd00:ec2::23");
  EXPECT_EQ(url->host_header, "[fd00:ec2::23]:8080");
  EXPECT_EQ(url->target, "/v1?id=2");
  EXPECT_EQ(ParseAwsUrl("x", "https://h:443")->host_header, "h");
  EXPECT_EQ(ParseAwsUrl("x", "http://h:443?a")->host_header, "h:443");
  EXPECT_EQ(ParseAwsUrl("x", "http://h?a")->target, "/?a");
  for (const char* bad :
       {"h", "ftp://h", "http://", "http://u@h", "http://h:", "http://h:x", "http://h/#f",
        "http://h /", "http://a:b:1", "http://[::1", "http://[::1]x", "http://127.0.0.1\\@h"}) {
    EXPECT_EQ(ParseAwsUrl("x", bad).code(), Code::kInvalid) << bad;
  }
}

TEST(AwsConfig, MergesBothFiles) {
  FakeAws aws;
  aws.Config(
      "[default]\nregion=r1\n[profile \"a b\"]\nregion=r2\naws_access_key_id=old\n"
      "[other]\nregion=no\n[sso-session s]\nsso_region=x\n");
  aws.Keys("[a b]\naws_access_key_id=new\n[c]\nk=v\n");
  auto config = ReadAwsConfig(aws.Environment());
  ASSERT_TRUE(config.ok());
  EXPECT_EQ(config->profile, "default");
  EXPECT_EQ(AwsRegion(aws.Environment(), *config), "r1");
  EXPECT_EQ(*config->Find("a b", "aws_access_key_id"), "new");
  EXPECT_EQ(*config->Find("a b", "region"), "r2");
  EXPECT_EQ(config->Find("other", "region"), nullptr);
  EXPECT_NE(config->Profile("c"), nullptr);
  aws.variables["AWS_PROFILE"] = "a b";
  EXPECT_EQ(AwsRegion(aws.Environment(), *ReadAwsConfig(aws.Environment())), "r2");
  aws.variables["AWS_DEFAULT_PROFILE"] = "c";  // botocore's order
  EXPECT_EQ(ReadAwsConfig(aws.Environment())->profile, "c");
  EXPECT_EQ(ReadAwsConfig(aws.Environment(), "default")->profile, "default");
  aws.variables["AWS_DEFAULT_REGION"] = "r3";
  EXPECT_EQ(AwsRegion(aws.Environment(), *config), "r3");
  aws.variables["AWS_REGION"] = "r4";
  EXPECT_EQ(AwsRegion(aws.Environment(), *config), "r4");
}

TEST(AwsConfig, AProfileThatIsChosenMustExist) {
  FakeAws aws;
  EXPECT_TRUE(ReadAwsConfig(aws.Environment()).ok());
  aws.variables["AWS_PROFILE"] = "trainign";
  EXPECT_EQ(ReadAwsConfig(aws.Environment()).code(), Code::kNotFound);
  aws.Keys("[trainign]\n");  // empty, but there
  EXPECT_TRUE(ReadAwsConfig(aws.Environment()).ok());
  aws.files.clear();
  aws.Config("[profile training]\nregion=x\n");
  const auto config = ReadAwsConfig(aws.Environment());
  EXPECT_EQ(config.code(), Code::kNotFound);
  EXPECT_NE(config.status().next().find("'training'"), std::string::npos);
}

TEST(AwsConfig, FilesLieWhereTheVariablesSay) {
  FakeAws aws;
  aws.variables["AWS_CONFIG_FILE"] = "~/c";
  aws.variables["AWS_SHARED_CREDENTIALS_FILE"] = "/k";
  aws.files = {{"/home/u/c", "[default]\nregion=x\n"}, {"/k", "[k]\na=b\n"}};
  const auto config = ReadAwsConfig(aws.Environment());
  ASSERT_TRUE(config.ok());
  EXPECT_TRUE(config->has_config && config->has_credentials);
  EXPECT_NE(config->Find("default", "region"), nullptr);
  EXPECT_NE(config->Find("k", "a"), nullptr);
}

TEST(AwsConfig, Endpoints) {
  FakeAws aws;
  const auto url = [&](const char* service) {
    const auto config = ReadAwsConfig(aws.Environment());
    return *AwsEndpointUrl(aws.Environment(), *config, service);
  };
  EXPECT_EQ(url("s3"), "");
  aws.Config(
      "[default]\nservices = mine\nendpoint_url = http://profile\n"
      "[services mine]\ns3 =\n  endpoint_url = http://section\n");
  EXPECT_EQ(url("s3"), "http://section");
  EXPECT_EQ(url("sts"), "http://profile");
  aws.variables["AWS_ENDPOINT_URL"] = "http://all";
  EXPECT_EQ(url("s3"), "http://all");
  aws.variables["AWS_ENDPOINT_URL_S3"] = "http://s3";
  EXPECT_EQ(url("s3"), "http://s3");
  EXPECT_EQ(url("sts"), "http://all");
  aws.variables["AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"] = "True";
  EXPECT_EQ(url("s3"), "");
  aws.variables.clear();
  aws.Config("[default]\nservices = gone\n");
  const auto config = ReadAwsConfig(aws.Environment());
  EXPECT_EQ(AwsEndpointUrl(aws.Environment(), *config, "s3").code(), Code::kInvalid);
}

// The addresses that botocore 1.43 makes up.
TEST(AwsConfig, AmazonsOwnAddresses) {
  EXPECT_EQ(AwsRegionalUrl("sts", "eu-central-1"), "https://sts.eu-central-1.amazonaws.com");
  EXPECT_EQ(AwsRegionalUrl("sts", "cn-north-1"), "https://sts.cn-north-1.amazonaws.com.cn");
  EXPECT_EQ(AwsRegionalUrl("s3", "us-gov-west-1"), "https://s3.us-gov-west-1.amazonaws.com");
  const AwsVariant dual{true, false}, fips{false, true}, both{true, true};
  EXPECT_EQ(AwsRegionalUrl("s3", "eu-west-1", dual),
            "https://s3.dualstack.eu-west-1.amazonaws.com");
  EXPECT_EQ(AwsRegionalUrl("s3", "us-east-1", fips), "https://s3-fips.us-east-1.amazonaws.com");
  EXPECT_EQ(AwsRegionalUrl("s3", "us-gov-west-1", both),
            "https://s3-fips.dualstack.us-gov-west-1.amazonaws.com");
  EXPECT_EQ(AwsRegionalUrl("s3", "cn-north-1", dual),
            "https://s3.dualstack.cn-north-1.amazonaws.com.cn");
  EXPECT_EQ(AwsRegionalUrl("sts", "us-east-1", dual), "https://sts.us-east-1.api.aws");
  EXPECT_EQ(AwsRegionalUrl("sts", "us-east-1", both), "https://sts-fips.us-east-1.api.aws");
  EXPECT_EQ(AwsRegionalUrl("sts", "us-gov-west-1", fips),
            "https://sts.us-gov-west-1.amazonaws.com");
  EXPECT_EQ(AwsRegionalUrl("sts", "us-gov-west-1", both), "https://sts-fips.us-gov-west-1.api.aws");
  EXPECT_EQ(AwsRegionalUrl("sts", "cn-north-1", dual),
            "https://sts.cn-north-1.api.amazonwebservices.com.cn");
  EXPECT_EQ(AwsRegionalUrl("portal.sso", "us-east-1", fips),
            "https://portal.sso-fips.us-east-1.amazonaws.com");
}

TEST(AwsConfig, WhichOfAmazonsAddresses) {
  FakeAws aws;
  const auto variant = [&](const char* service) {
    const AwsVariant out =
        AwsVariantOf(aws.Environment(), *ReadAwsConfig(aws.Environment()), service);
    return std::string(out.dualstack ? "dual " : "") + (out.fips ? "fips" : "");
  };
  EXPECT_EQ(variant("s3"), "");
  aws.Config("[default]\nuse_dualstack_endpoint = TRUE\nuse_fips_endpoint = true\n");
  EXPECT_EQ(variant("s3"), "dual fips");
  aws.variables = {{"AWS_USE_DUALSTACK_ENDPOINT", "false"}, {"AWS_USE_FIPS_ENDPOINT", "no"}};
  EXPECT_EQ(variant("s3"), "");
  aws.Config("[default]\ns3 =\n  use_dualstack_endpoint = true\n");
  EXPECT_EQ(variant("s3"), "dual ");
  EXPECT_EQ(variant("sts"), "");
  aws.Config("[default]\ns3 =\n  use_dualstack_endpoint = false\nuse_fips_endpoint = true\n");
  aws.variables = {{"AWS_USE_DUALSTACK_ENDPOINT", "true"}};
  EXPECT_EQ(variant("s3"), "dual fips");
}

}  // namespace
}  // namespace stoker

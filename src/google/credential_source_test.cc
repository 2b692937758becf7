// SPDX-License-Identifier: Apache-2.0
// What is said of credentials, and when they are asked for again. test/google compares what is
// found with google-auth.
#include "google/credential_source.h"

#include <gtest/gtest.h>

#include "base/base64.h"
#include "google/jwt.h"
#include "test/kit/google_environment.h"

namespace stoker {
namespace {

class GoogleSource : public testing::Test {
 protected:
  // The secret, or the error.
  std::string Find() {
    GoogleCredentialSource source(google_.Environment());
    const auto got = source.Get();
    return got.ok() ? got->secret : got.status().ToString();
  }
  void Name(const std::string& json) {
    google_.variables["GOOGLE_APPLICATION_CREDENTIALS"] = "/k.json";
    google_.files["/k.json"] = json;
  }
  bool Says(const std::string& words) {
    const std::string said = Find();
    EXPECT_NE(said.find(words), std::string::npos) << said;
    EXPECT_EQ(said.find("hush"), std::string::npos) << said;
    return true;
  }
  FakeGoogle google_;
};

TEST_F(GoogleSource, RenewsBeforeTheEndAndAfterARefusal) {
  google_.Login();
  google_.GiveToken("A", 3600);
  GoogleCredentialSource source(google_.Environment());
  EXPECT_EQ(source.Get()->secret, "A");
  google_.GiveToken("B", 3600);
  google_.now = google_.now + Duration::Seconds(3600 - 225);
  EXPECT_EQ(source.Get()->secret, "A");
  google_.now = google_.now + Duration::Seconds(1);
  EXPECT_EQ(source.Get()->secret, "B");
  google_.GiveToken("C", 3600);
  GoogleToken older;
  older.secret = "A";
  source.Reject(older);
  EXPECT_EQ(source.Get()->secret, "B");
  source.Reject(*source.Get());
  EXPECT_EQ(source.Get()->secret, "C");
  // What lasts is good while renewal fails.
  google_.answers.clear();
  google_.now = google_.now + Duration::Seconds(3500);
  EXPECT_EQ(source.Get()->secret, "C");
  google_.now = google_.now + Duration::Seconds(101);
  EXPECT_EQ(source.Get().code(), Code::kUnavailable);
}

TEST_F(GoogleSource, SaysWhatWasFoundAndNoSecret) {
  google_.Login(R"(,"account":"ada@p.test","quota_project_id":"billed")");
  google_.GiveToken("hush three", 3600);
  GoogleCredentialSource source(google_.Environment());
  EXPECT_EQ(Describe(*source.Get()),
            "user's login in /home/u/.config/gcloud/application_default_credentials.json, for "
            "ada@p.test, billed to billed, until 2026-01-01T01:00:00.000Z");
}

TEST_F(GoogleSource, SaysAllPlacesThatWereTried) {
  EXPECT_TRUE(
      Says("GOOGLE_APPLICATION_CREDENTIALS is not set; there is no /home/u/.config/gcloud/"
           "application_default_credentials.json; no metadata server of Google's"));
  // Amazon's answers at the same address.
  google_.answers["GET http://169.254.169.254 /"] = {200, {{"Server", "EC2ws"}}, "latest"};
  EXPECT_TRUE(Says("another service answers there"));
}

TEST_F(GoogleSource, RefusalsAreTold) {
  google_.Login();
  google_.answers["POST https://oauth2.googleapis.com /token"] = {
      400, {}, R"({"error":"invalid_grant","error_description":"Token was revoked."})"};
  EXPECT_TRUE(Says("400: invalid_grant: Token was revoked."));
  EXPECT_TRUE(Says("gcloud auth application-default login"));
  google_.answers["POST https://oauth2.googleapis.com /token"] = {503, {}, "hush"};
  GoogleCredentialSource source(google_.Environment());
  EXPECT_EQ(source.Get().code(), Code::kUnavailable);
  google_.GiveToken("a\\r\\nX: b", 3600);
  EXPECT_TRUE(Says("has no access_token"));
  google_.GiveToken("a", 0);
  EXPECT_TRUE(Says("strange expires_in"));
}

TEST_F(GoogleSource, SecretsGoOverTlsAlone) {
  const std::string begin = R"({"type":"external_account","audience":"a",)"
                            R"("subject_token_type":"t","credential_source":{"file":"/s"},)";
  google_.files["/s"] = "hush";
  for (const std::string url :
       {"http://evil.test/token", "http://127.0.0.1.evil.test/", "http://localhost@evil.test/",
        "ftp://x", "https://u@evil.test/", "https://a b/", "https://", "//x"}) {
    Name(begin + R"("token_url":")" + url + "\"}");
    EXPECT_TRUE(Says("'" + url + "'")) << url;
  }
  EXPECT_TRUE(google_.asked.empty());
  Name(begin + R"("token_url":"http://127.0.0.1:8080/t"})");
  google_.answers["POST http://127.0.0.1:8080 /t"] = {200, {}, R"({"access_token":"T"})"};
  EXPECT_EQ(Find(), "T");
}

TEST_F(GoogleSource, FilesThatCannotBeRight) {
  for (const auto& [json, words] : std::vector<std::pair<std::string, std::string>>{
           {"hush", "not a JSON object"},
           {"{}", "it has no type"},
           {R"({"type":"gdch_service_account"})", "'gdch_service_account' are not supported"},
           {R"({"type":"authorized_user"})", "it has no client_id"},
           {R"({"type":"service_account","token_uri":"https://t","private_key":"hush",)"
            R"("client_email":"e"})",
            "not an RSA key"},
           {R"({"type":"service_account","universe_domain":"x.test"})", "'x.test'"},
           {R"({"type":"external_account","audience":"a","subject_token_type":"t",)"
            R"("token_url":"https://t","credential_source":{"certificate":{}}})",
            "from a certificate are not supported"},
           {R"({"type":"impersonated_service_account","service_account_impersonation_url":"x"})",
            "names no service account"},
           {R"({"type":"authorized_user","client_id":7})", "it has no client_id"}}) {
    Name(json);
    EXPECT_TRUE(Says(words)) << json;
  }
  google_.variables["GOOGLE_CLOUD_QUOTA_PROJECT"] = "a\r\nX: b";
  google_.GiveToken("A", 3600);
  Name(R"({"type":"authorized_user","client_id":"c","client_secret":"s","refresh_token":"r"})");
  EXPECT_TRUE(Says("has a line break"));
  google_.files.clear();
  google_.Login();  // not looked for: the variable names another
  EXPECT_TRUE(Says("GOOGLE_APPLICATION_CREDENTIALS: /k.json"));
}

TEST_F(GoogleSource, TheMachinesAccount) {
  const HttpHeaders flavor = {{"Metadata-Flavor", "Google"}};
  const std::string account = "GET http://m.test /computeMetadata/v1/instance/service-accounts/";
  google_.variables["GCE_METADATA_HOST"] = "m.test";
  google_.answers["GET http://m.test /"] = {200, flavor, "computeMetadata/"};
  EXPECT_TRUE(Says("m.test: nobody answers"));
  GoogleCredentialSource source(google_.Environment());
  EXPECT_EQ(source.Get().code(), Code::kUnavailable);
  google_.answers[account + "default/token"] = {404, flavor, ""};
  EXPECT_TRUE(Says("the machine has no service account"));
  google_.answers[account + "default/token"] = {
      200, flavor, R"({"access_token":"T","expires_in":3000,"token_type":"Bearer"})"};
  google_.answers[account + "default/email"] = {200, flavor, "vm@p.test"};
  EXPECT_EQ(Find(), "T");
  for (const auto& [base, request] : google_.asked) {
    EXPECT_EQ(*FindHeader(request.headers, "Metadata-Flavor"), "Google");
  }
  google_.variables["NO_GCE_CHECK"] = "true";
  EXPECT_TRUE(Says("NO_GCE_CHECK is set"));
}

// A server that is there and has a bad moment is not "another service".
TEST_F(GoogleSource, AServerOutOfOrderIsAskedAgainLater) {
  const HttpHeaders flavor = {{"Metadata-Flavor", "Google"}};
  const std::string base = "http://169.254.169.254";
  const std::string token =
      "GET " + base + " /computeMetadata/v1/instance/service-accounts/default/token";
  google_.answers["GET " + base + " /"] = {503, {}, ""};
  GoogleCredentialSource source(google_.Environment());
  EXPECT_EQ(source.Get().code(), Code::kUnavailable);
  google_.answers["GET " + base + " /"] = {200, flavor, ""};
  google_.answers[token] = {200, flavor, R"({"access_token":"T","expires_in":3000})"};
  const auto first = source.Get();
  ASSERT_TRUE(first.ok()) << first.status().ToString();
  google_.answers[token] = {404, flavor, ""};
  source.Reject(*first);
  EXPECT_EQ(source.Get().code(), Code::kUnavailable);
  google_.answers.clear();
  google_.silent.insert(base);
  EXPECT_TRUE(Says("nobody answers"));
  GoogleCredentialSource another(google_.Environment());
  EXPECT_EQ(another.Get().code(), Code::kUnavailable);
}

TEST(GoogleJwt, Base64AsTheStandardHasIt) {
  EXPECT_EQ(Base64Url(""), "");
  EXPECT_EQ(Base64Url("f"), "Zg");
  EXPECT_EQ(Base64Url("fooba"), "Zm9vYmE");
  EXPECT_EQ(Base64Url("\xfb\xff\xfe"), "-__-");
  EXPECT_EQ(Base64("\xfb\xff\xfe!"), "+//+IQ==");
}

// What google-auth is not compared with in test/google: no secret in errors, and what cannot be in
// a request or an answer.
class GoogleExternal : public GoogleSource {
 protected:
  void Federate(const std::string& type, const std::string& source) {
    Name(R"({"type":"external_account","audience":"//pool","subject_token_type":")" + type +
         R"(","token_url":"https://sts.test/token","credential_source":)" + source + "}");
  }
  void Program(const std::string& said, int exit_code = 0) {
    google_.programs["/give"] = {exit_code, said};
    Federate("urn:ietf:params:oauth:token-type:jwt",
             R"({"executable":{"command":"/give 'a b'","timeout_millis":5000}})");
  }
};

TEST_F(GoogleExternal, AProgramIsRunWhereItIsAllowedAlone) {
  const std::string good =
      R"({"version":1,"success":true,"token_type":"urn:ietf:params:oauth:token-type:jwt",)"
      R"("id_token":"hush"})";
  Program(good);
  EXPECT_TRUE(Says("GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES is not 1"));
  EXPECT_TRUE(google_.given.empty()) << "it was run";
  google_.variables["GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES"] = "1";
  google_.answers["POST https://sts.test /token"] = {
      200, {}, R"({"access_token":"A","expires_in":60})"};
  EXPECT_EQ(Find(), "A");
  EXPECT_EQ(google_.given[0],
            (std::pair<std::string, std::string>("GOOGLE_EXTERNAL_ACCOUNT_AUDIENCE", "//pool")));
  for (const auto& [said, words] : std::vector<std::pair<std::string, std::string>>{
           {"hush", "is not a JSON object"},
           {R"({"version":1,"success":true,"token_type":"urn:other"})", "which nobody takes"},
           {R"({"version":"hush","success":true})", "has no version"},
           {R"({"version":1,"success":true,"expiration_time":"hush"})", "expiration_time"},
           {R"({"version":1,"success":false,"code":"7","message":"log in\n"})", "7: log in"}}) {
    Program(said);
    EXPECT_TRUE(Says(words)) << said;
  }
  Program(good, 3);
  EXPECT_TRUE(Says("failed with exit code 3"));
}

TEST_F(GoogleExternal, WhatEc2SaysMustFitIntoARequest) {
  const std::string source =
      R"({"environment_id":"aws1","region_url":"http://ec2/zone","url":"http://ec2/keys",)"
      R"("regional_cred_verification_url":"https://sts.{region}.test?Action=GetCallerIdentity"})";
  Federate("urn:ietf:params:aws:token-type:aws4_request", source);
  EXPECT_TRUE(Says("nobody answers"));
  google_.answers["GET http://ec2 /zone"] = {200, {}, "eu-1a\r\nX: y"};
  EXPECT_TRUE(Says("more than a line"));
  google_.answers["GET http://ec2 /zone"] = {200, {}, "eu 1a"};
  google_.answers["GET http://ec2 /keys"] = {200, {}, "role"};
  google_.answers["GET http://ec2 /keys/role"] = {200, {}, R"({"AccessKeyId":"k"})"};
  EXPECT_TRUE(Says("gives no keys"));
  google_.answers["GET http://ec2 /keys/role"] = {
      200, {}, R"({"AccessKeyId":"k","SecretAccessKey":"hush"})"};
  EXPECT_TRUE(Says("is not an https:// address"));
}

}  // namespace
}  // namespace stoker

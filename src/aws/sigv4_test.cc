// SPDX-License-Identifier: Apache-2.0
// Examples that Amazon published: "Signature Calculations for the Authorization Header" and
// "Authenticating Requests: Using Query Parameters" of the S3 API reference, the ListUsers example
// of the general reference, and the aws4_testsuite. Comparison with botocore: test/aws.
#include "aws/sigv4.h"

#include <gtest/gtest.h>

#include "base/digest.h"
#include "net/percent.h"

namespace stoker {
namespace {

const AwsCredentials kS3User{
    "AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "", {}, ""};
const AwsCredentials kSuiteUser{
    "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "", {}, ""};
const WallTime kS3Time = *ParseRfc3339("2013-05-24T00:00:00Z");
const WallTime kSuiteTime = *ParseRfc3339("2015-08-30T12:36:00Z");

std::string Header(const HttpRequest& request, const char* name) {
  const std::string* value = FindHeader(request.headers, name);
  return value == nullptr ? "(none)" : *value;
}

std::string SignatureOf(const HttpRequest& request) {
  const std::string text = Header(request, "Authorization");
  const size_t at = text.rfind("Signature=");
  return at == std::string::npos ? text : text.substr(at + 10);
}

std::string S3Signature(HttpRequest request) {
  request.headers.emplace_back("Host", "examplebucket.s3.amazonaws.com");
  const AwsSigner signer("us-east-1", "s3");
  EXPECT_TRUE(signer.Sign(kS3User, kS3Time, &request).ok());
  return SignatureOf(request);
}

std::string SuiteSignature(HttpRequest request) {
  request.headers.emplace_back("Host", "example.amazonaws.com");
  const AwsSigner signer("us-east-1", "service");
  EXPECT_TRUE(signer.Sign(kSuiteUser, kSuiteTime, &request).ok());
  return SignatureOf(request);
}

TEST(SigV4, S3ReferenceGetObject) {
  HttpRequest request{"GET", "/test.txt", {}, ""};
  request.headers = {{"Host", "examplebucket.s3.amazonaws.com"}, {"Range", "bytes=0-9"}};
  const AwsSigner signer("us-east-1", "s3");
  ASSERT_TRUE(signer.Sign(kS3User, kS3Time, &request).ok());
  EXPECT_EQ(Header(request, "Authorization"),
            "AWS4-HMAC-SHA256 "
            "Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, "
            "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, "
            "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
  EXPECT_EQ(Header(request, "x-amz-date"), "20130524T000000Z");
  EXPECT_EQ(Header(request, "x-amz-content-sha256"), Sha256Hex(""));
  EXPECT_EQ(Header(request, "x-amz-security-token"), "(none)");
}

TEST(SigV4, S3ReferencePutObject) {
  HttpRequest request{"PUT", PercentEncodePath("/test$file.text"), {}, "Welcome to Amazon S3."};
  request.headers = {{"Date", "Fri, 24 May 2013 00:00:00 GMT"},
                     {"x-amz-storage-class", "REDUCED_REDUNDANCY"}};
  EXPECT_EQ(S3Signature(request),
            "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd");
}

TEST(SigV4, S3ReferenceValuelessQuery) {
  EXPECT_EQ(S3Signature({"GET", "/?lifecycle", {}, ""}),
            "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
}

TEST(SigV4, S3ReferenceListObjects) {
  const char kExpected[] = "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7";
  EXPECT_EQ(S3Signature({"GET", "/?max-keys=2&prefix=J", {}, ""}), kExpected);
  EXPECT_EQ(S3Signature({"GET", "/?prefix=J&max-keys=2", {}, ""}), kExpected);
}

TEST(SigV4, ListUsers) {
  HttpRequest request{"GET", "/?Action=ListUsers&Version=2010-05-08", {}, ""};
  request.headers = {{"Content-Type", "application/x-www-form-urlencoded; charset=utf-8"},
                     {"Host", "iam.amazonaws.com"}};
  const AwsSigner signer("us-east-1", "iam");
  ASSERT_TRUE(signer.Sign(kSuiteUser, kSuiteTime, &request).ok());
  EXPECT_EQ(SignatureOf(request),
            "5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7");
  EXPECT_EQ(Header(request, "x-amz-content-sha256"), "(none)");
}

TEST(SigV4, Suite) {
  const char kVanilla[] = "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31";
  EXPECT_EQ(SuiteSignature({"GET", "/", {}, ""}), kVanilla);
  EXPECT_EQ(SuiteSignature({"GET", "/example/..", {}, ""}), kVanilla);
  EXPECT_EQ(SuiteSignature({"GET", "//", {}, ""}), kVanilla);
  EXPECT_EQ(SuiteSignature({"GET", "/./", {}, ""}), kVanilla);
  EXPECT_EQ(SuiteSignature({"POST", "/", {}, ""}),
            "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b");
  EXPECT_EQ(SuiteSignature({"GET", "/?Param2=value2&Param1=value1", {}, ""}),
            "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500");
  EXPECT_EQ(SuiteSignature({"GET", "/ሴ", {}, ""}),
            "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85");
}

TEST(SigV4, SigningAgainReplacesWhatWasThere) {
  AwsCredentials user = kS3User;
  user.session_token = "first";
  HttpRequest request{"GET", "/k", {{"host", "h"}}, ""};
  const AwsSigner signer("us-east-1", "s3");
  ASSERT_TRUE(signer.Sign(user, kS3Time, &request, kUnsignedPayload).ok());
  EXPECT_EQ(Header(request, "x-amz-content-sha256"), "UNSIGNED-PAYLOAD");
  EXPECT_EQ(Header(request, "x-amz-security-token"), "first");
  const size_t headers = request.headers.size();
  const std::string first = SignatureOf(request);
  user.session_token = "second";
  ASSERT_TRUE(signer.Sign(user, kS3Time, &request, kUnsignedPayload).ok());
  EXPECT_EQ(request.headers.size(), headers);
  EXPECT_NE(SignatureOf(request), first);
  // Another secret, and another day, need another key.
  user = kS3User;
  user.secret_key = "other";
  ASSERT_TRUE(signer.Sign(user, kS3Time, &request).ok());
  const std::string other = SignatureOf(request);
  ASSERT_TRUE(signer.Sign(user, kS3Time + Duration::Hours(24), &request).ok());
  EXPECT_NE(SignatureOf(request), other);
  ASSERT_TRUE(signer.Sign(user, kS3Time, &request).ok());
  EXPECT_EQ(SignatureOf(request), other);
}

TEST(SigV4, RefusesWhatCannotWork) {
  const AwsSigner signer("us-east-1", "s3");
  HttpRequest request;
  EXPECT_EQ(signer.Sign(kS3User, kS3Time, &request).code(), Code::kInternal);
}

}  // namespace
}  // namespace stoker

// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "base/base64.h"
#include "base/text.h"
#include "container/image_manifest.h"
#include "container/image_ref.h"
#include "container/registry_login.h"

namespace stoker {
namespace {

std::string AnyDigest(char digit) { return "sha256:" + std::string(64, digit); }

TEST(ImageRefs, AreTakenApartAsDockerDoes) {
  const auto is = [](const std::string& image, const ImageRef& ref) {
    const auto got = ParseImageRef(image);
    return got && *got == ref;
  };
  EXPECT_TRUE(is("python", {"docker.io", "library/python", "latest", ""}));
  EXPECT_TRUE(is("python:3.12", {"docker.io", "library/python", "3.12", ""}));
  EXPECT_TRUE(is("pytorch/pytorch:2", {"docker.io", "pytorch/pytorch", "2", ""}));
  EXPECT_TRUE(is("docker.io/python", {"docker.io", "library/python", "latest", ""}));
  EXPECT_TRUE(is("localhost:5000/a", {"localhost:5000", "a", "latest", ""}));
  EXPECT_TRUE(is("h.io/a/b/c:t@" + AnyDigest('a'), {"h.io", "a/b/c", "t", AnyDigest('a')}));
  EXPECT_TRUE(is("a@" + AnyDigest('b'), {"docker.io", "library/a", "", AnyDigest('b')}));
  EXPECT_TRUE(IsRepositoryName("localhost:5000/a") && IsRepositoryName("ghcr.io/me/a"));
  for (const char* none : {"", "a", "me/a", "ghcr.io", "ghcr.io/a:1", "localhost/a", "h.io/a@b"}) {
    EXPECT_FALSE(IsRepositoryName(none)) << none;
  }
  EXPECT_FALSE(ParseImageRef("localhost/a"));
  EXPECT_FALSE(ParseImageRef(AnyDigest('a')));
  EXPECT_FALSE(ParseImageRef("-v"));
  EXPECT_EQ(PinnedImage(*ParseImageRef("python:3"), AnyDigest('c')),
            "docker.io/library/python@" + AnyDigest('c'));
}

TEST(ImageManifests, TellSizesAndPlatforms) {
  const std::string one = R"({"schemaVersion":2,"config":{"digest":")" + AnyDigest('1') +
                          R"(","size":10},"layers":[{"size":100},{"size":-5},{"size":7}]})";
  const auto single = ReadImageManifest("x", one);
  ASSERT_TRUE(single.ok()) << single.status().ToString();
  EXPECT_EQ(single->bytes, 117);
  EXPECT_EQ(single->config_digest, AnyDigest('1'));
  const std::string many = R"({"manifests":[{"digest":")" + AnyDigest('2') +
                           R"(","platform":{"os":"linux","architecture":"arm64"}},{"digest":"x",)"
                           R"("platform":{"os":"linux","architecture":"amd64"}},7]})";
  const auto index = ReadImageManifest("x", many);
  ASSERT_TRUE(index.ok()) << index.status().ToString();
  ASSERT_EQ(index->platforms.size(), 1u);
  EXPECT_EQ(index->platforms[0].architecture, "arm64");
  for (const char* bad : {"", "{}", "[]", R"({"manifests":[]})", R"({"config":{},"layers":[]})"}) {
    EXPECT_TRUE(ReadImageManifest("x", bad).status().Is(Code::kCorrupt)) << bad;
  }
  EXPECT_EQ(ReadImageConfig("x", R"({"os":"linux","architecture":"amd64"})")->architecture,
            "amd64");
}

TEST(RegistryLogins, AreThoseOfTheNearestEntry) {
  const auto in = [](const std::string& text, const char* image) {
    const auto got = LoginIn("config.json", text, *ParseImageRef(image));
    EXPECT_TRUE(got.ok()) << got.status().ToString();
    return got.ok() ? *got : LoginEntry();
  };
  const std::string hub =
      R"({"auths":{"https://index.docker.io/v1/":{"auth":")" + Base64("me:pass:word") + R"("}}})";
  ASSERT_TRUE(in(hub, "python").login);
  EXPECT_EQ(in(hub, "python").login->secret, "pass:word");
  EXPECT_FALSE(in(hub, "h.io/python").login);
  const std::string two = R"({"auths":{"h.io":{"username":"a","password":"1"},"h.io/team":)"
                          R"({"username":"b","password":"2"},"https://i.io/v2/":{}}})";
  EXPECT_EQ(in(two, "h.io/team/x").login->user, "b");
  EXPECT_EQ(in(two, "h.io/teams/x").login->user, "a");
  EXPECT_FALSE(in(two, "i.io/x").login);
  const std::string token = R"({"auths":{"h.io":{"identitytoken":"t"}}})";
  EXPECT_EQ(in(token, "h.io/x").login->user, kIdentityToken);
  const std::string helped =
      R"({"credsStore":"all","credHelpers":{"h.io":"one"},"auths":{"i.io":{}}})";
  EXPECT_EQ(in(helped, "h.io/x").helper, "one");
  EXPECT_EQ(in(helped, "i.io/x").helper, "all");
  EXPECT_EQ(in(helped, "python").server, "https://index.docker.io/v1/");
  EXPECT_FALSE(LoginIn("f", R"({"credsStore":"../x"})", *ParseImageRef("a")).ok());
  EXPECT_FALSE(LoginIn("f", "no json", *ParseImageRef("a")).ok());
  EXPECT_EQ(AnsweredLogin(R"({"ServerURL":"h","Username":"u","Secret":"s"})")->user, "u");
  EXPECT_FALSE(AnsweredLogin("credentials not found in native keychain\n"));
  const std::string written = LoginFile("docker.io", {"u", "s:t"});
  EXPECT_EQ(in(written, "python").login->secret, "s:t");
}

TEST(RegistryLogins, AJobHasTheOneThatItsSecretsMake) {
  EXPECT_FALSE(LoginOfJob({}, {{"P", "x"}}));
  EXPECT_FALSE(LoginOfJob({"me", "$P"}, {}));
  EXPECT_EQ(LoginOfJob({"me", "$P"}, {{"P", "x"}})->secret, "x");
  EXPECT_EQ(LoginOfJob({"$U", "$P"}, {{"P", "x"}, {"U", "you"}})->user, "you");
}

TEST(RegistryLogins, ChallengesAreRead) {
  const auto bearer = ReadChallenge(
      R"(Bearer realm="https://auth.x/token?a=b",service="reg \"x\"", scope="repository:a:pull")");
  ASSERT_TRUE(bearer && bearer->bearer);
  EXPECT_EQ(bearer->realm, "https://auth.x/token?a=b");
  EXPECT_EQ(bearer->service, "reg \"x\"");
  EXPECT_EQ(bearer->scope, "repository:a:pull");
  EXPECT_TRUE(ReadChallenge("Basic realm=\"x\"") && !ReadChallenge("basic")->bearer);
  for (const char* bad : {"", "Bearer", "Bearer realm", "Bearer service=x", "Negotiate x"}) {
    EXPECT_FALSE(ReadChallenge(bad)) << bad;
  }
}

TEST(RegistryLogins, Base64GoesBothWays) {
  for (const std::string& text :
       {std::string("a"), std::string("ab"), std::string("abc"), std::string("\0\xff\x10z", 4)}) {
    EXPECT_EQ(FromBase64(Base64(text)), text);
  }
  EXPECT_EQ(Base64("me:x"), "bWU6eA==");
  EXPECT_FALSE(FromBase64("a b"));
  EXPECT_FALSE(FromBase64(""));
}

}  // namespace
}  // namespace stoker

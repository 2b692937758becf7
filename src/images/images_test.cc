// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <map>
#include <mutex>

#include "base/base64.h"
#include "base/digest.h"
#include "base/text.h"
#include "container/image_manifest.h"
#include "images/logins.h"
#include "images/one_layer.h"
#include "images/registry_client.h"
#include "net/http_server.h"
#include "sys/file.h"

namespace stoker {
namespace {

std::string DigestOf(const std::string& text) { return "sha256:" + Sha256Hex(text); }

// A registry that wants a token, which wants a login; a real one is in test/containers/images.py.
class FakeRegistry : public ::testing::Test {
 protected:
  void SetUp() override {
    auto server = HttpServer::Start({}, [this](const HttpRequest& request) {
      const std::lock_guard lock(mutex_);
      return Answer(request);
    });
    ASSERT_TRUE(server.ok());
    server_ = std::move(*server);
    config_ = R"({"os":"linux","architecture":"amd64"})";
    manifest_ = R"({"config":{"digest":")" + DigestOf(config_) +
                R"(","size":36},"layers":[{"size":1000}]})";
    index_ = R"({"manifests":[{"digest":")" + DigestOf(manifest_) +
             R"(","platform":{"os":"linux","architecture":"amd64"}}]})";
    Has("manifests/1", manifest_);
    Has("manifests/2", index_);
    Has("manifests/" + DigestOf(manifest_), manifest_);
    Has("blobs/" + DigestOf(config_), config_);
  }
  void Has(const std::string& what, const std::string& body) { has_["/v2/a/b/" + what] = body; }
  std::string Host() const { return "127.0.0.1:" + std::to_string(server_->port()); }
  RegistryAsk Ask(const std::string& end) const {
    RegistryAsk ask;
    ask.ref = *ParseImageRef(Host() + "/a/b" + end);
    ask.architecture = "amd64";
    ask.login = RegistryLogin{"me", "secret"};
    ask.pauses = {Duration::Ms(1), Duration::Ms(1)};
    return ask;
  }

  HttpReply Answer(const HttpRequest& request) {
    const std::string* told = FindHeader(request.headers, "Authorization");
    if (StartsWith(request.target, "/token")) {
      asked_ += request.target + "\n";
      if (told == nullptr || *told != "Basic " + Base64("me:secret")) return HttpResponse{401};
      return HttpResponse{200, {}, R"({"token":"let-in"})"};
    }
    if (told == nullptr || *told != "Bearer let-in") {
      const std::string realm = "http://" + Host() + "/token";
      return HttpResponse{
          401,
          {{"WWW-Authenticate", "Bearer realm=\"" + realm + "\",service=\"s\",scope=\"x:y\""}}};
    }
    if (status_ != 200) {
      ++refused_;
      const int status = status_;
      if (refused_ == passes_after_) status_ = 200;
      return HttpResponse{status};
    }
    if (request.target == moved_) return HttpResponse{307, {{"Location", "/elsewhere"}}};
    const auto found = has_.find(request.target == "/elsewhere" ? moved_ : request.target);
    if (found == has_.end()) return HttpResponse{404};
    return HttpResponse{200, {}, found->second};
  }

  std::mutex mutex_;
  std::map<std::string, std::string> has_;
  std::string config_, manifest_, index_, asked_, moved_;
  int status_ = 200, refused_ = 0, passes_after_ = 0;
  std::unique_ptr<HttpServer> server_;
};

TEST(OneLayerImage, HasTheSameBytesEachTime) {
  const std::string program(100'000, 'x');
  const OneLayerImage image = MakeOneLayerImage("stoker", program, "amd64");
  EXPECT_LT(image.layer.size(), 2'000U);
  EXPECT_EQ(image.digest, MakeOneLayerImage("stoker", program, "amd64").digest);
  EXPECT_NE(image.digest, MakeOneLayerImage("stoker", program + "y", "amd64").digest);
  EXPECT_EQ(image.digest, DigestOf(image.manifest));
  // As registries read it.
  const auto manifest = ReadImageManifest("x", image.manifest);
  ASSERT_TRUE(manifest.ok()) << manifest.status().ToString();
  EXPECT_EQ(manifest->config_digest, DigestOf(image.config));
  EXPECT_EQ(ReadImageConfig("x", image.config)->architecture, "amd64");
}

TEST_F(FakeRegistry, TellsDigestAndSizeToWhoLogsIn) {
  moved_ = "/v2/a/b/blobs/" + DigestOf(config_);
  const auto one = AskRegistry(Ask(":1"));
  ASSERT_TRUE(one.ok()) << one.status().ToString();
  EXPECT_EQ(one->digest, DigestOf(manifest_));
  EXPECT_EQ(one->bytes, 1036);
  EXPECT_EQ(asked_, "/token?service=s&scope=x%3Ay\n");
  const auto index = AskRegistry(Ask(":2"));
  ASSERT_TRUE(index.ok()) << index.status().ToString();
  EXPECT_EQ(index->digest, DigestOf(index_));
  EXPECT_EQ(index->bytes, 1036);
  EXPECT_EQ(AskRegistry(Ask("@" + DigestOf(manifest_)))->digest, DigestOf(manifest_));
}

TEST_F(FakeRegistry, WhatIsFinalIsToldApart) {
  const auto refused = [](const RegistryAsk& ask, const std::string& why) {
    const auto got = AskRegistry(ask);
    const bool gone = why.find("has no") != std::string::npos;
    ASSERT_TRUE(got.status().Is(gone ? Code::kNotFound : Code::kInvalid))
        << got.status().ToString();
    EXPECT_NE(got.status().message().find(why), std::string::npos) << got.status().ToString();
    EXPECT_EQ(got.status().ToString().find("secret"), std::string::npos);
  };
  refused(Ask(":9"), "has no 9");
  refused(Ask("@sha256:" + std::string(64, '0')), "has no sha256:0");
  RegistryAsk ask = Ask(":1");
  ask.architecture = "arm64";
  refused(ask, "for linux/amd64, not for linux/arm64");
  ask.ref.tag = "2";
  refused(ask, "for linux/amd64, not for linux/arm64");
  ask.login->user = "other";
  refused(ask, "(other) may not pull it");
  ask.login.reset();
  ask.no_login = "docker-credential-x: gone";
  refused(ask, "wants a login; there is none: docker-credential-x: gone");
}

TEST_F(FakeRegistry, WhatMayPassIsNoAnswer) {
  for (const int status : {429, 500, 503}) {
    status_ = status;
    refused_ = passes_after_ = 0;
    EXPECT_TRUE(AskRegistry(Ask(":1")).status().Is(Code::kBusy));
    EXPECT_EQ(refused_, 3) << "it is asked again, and not for ever";
    refused_ = 0;
    passes_after_ = 2;
    EXPECT_TRUE(AskRegistry(Ask(":1")).ok());
  }
  refused_ = passes_after_ = 0;
  status_ = 418;
  EXPECT_TRUE(AskRegistry(Ask(":1")).status().Is(Code::kUnavailable));
  EXPECT_EQ(refused_, 1);
  status_ = 200;
  Has("manifests/" + DigestOf("other"), "not that");
  EXPECT_TRUE(AskRegistry(Ask("@" + DigestOf("other"))).status().Is(Code::kCorrupt));
  const RegistryAsk ask = Ask(":1");
  server_.reset();
  const auto away = AskRegistry(ask);
  EXPECT_FALSE(away.ok() || away.status().Is(Code::kInvalid)) << away.status().ToString();
}

class Logins : public ::testing::Test {
 protected:
  void SetUp() override {
    auto made = sys::TempDir::Make("logins");
    ASSERT_TRUE(made.ok());
    dir_ = std::make_unique<sys::TempDir>(std::move(*made));
    env_["HOME"] = dir_->path();
  }
  void Write(const std::string& file, const std::string& text, mode_t mode = 0600) {
    const std::string path = dir_->path() + "/" + file;
    ASSERT_TRUE(sys::MakeDirs(path.substr(0, path.rfind('/')), 0700).ok());
    ASSERT_TRUE(sys::WriteFileAtomic(path, text, mode).ok());
    ASSERT_EQ(chmod(path.c_str(), mode), 0);
  }
  FoundLogin Find(const char* image) {
    return FindLogin(*ParseImageRef(image), [this](const std::string& name) {
      const auto found = env_.find(name);
      return found == env_.end() ? std::nullopt : std::optional(found->second);
    });
  }
  std::unique_ptr<sys::TempDir> dir_;
  std::map<std::string, std::string> env_;
};

TEST_F(Logins, AreLookedForWhereTheEnginesHaveThem) {
  EXPECT_FALSE(Find("h.io/a").login);
  Write(".config/containers/auth.json", LoginFile("h.io", {"podman", "1"}));
  EXPECT_EQ(Find("h.io/a").login->user, "podman");
  Write(".docker/config.json", LoginFile("h.io", {"docker", "1"}));
  EXPECT_EQ(Find("h.io/a").login->user, "docker");
  Write("mine", LoginFile("h.io", {"mine", "1"}));
  env_["REGISTRY_AUTH_FILE"] = dir_->path() + "/mine";
  EXPECT_EQ(Find("h.io/a").login->user, "mine");
  EXPECT_FALSE(Find("i.io/a").login);
}

TEST_F(Logins, HelpersAreAskedAndTheirTroubleIsKept) {
  Write(
      "bin/docker-credential-good",
      "#!/bin/sh\nread host; echo \"{\\\"Username\\\":\\\"u\\\",\\\"Secret\\\":\\\"$host\\\"}\"\n",
      0700);
  Write("bin/docker-credential-bad", "#!/bin/sh\necho no such bus >&2; exit 1\n", 0700);
  Write("bin/docker-credential-none",
        "#!/bin/sh\necho credentials not found in native keychain; exit 1\n", 0700);
  const std::string path = std::getenv("PATH");
  setenv("PATH", (dir_->path() + "/bin:" + path).c_str(), 1);
  Write(".docker/config.json",
        R"({"credHelpers":{"h.io":"good","i.io":"bad","j.io":"none","k.io":"gone"}})");
  EXPECT_EQ(Find("h.io/a").login->secret, "h.io");
  EXPECT_EQ(Find("i.io/a").trouble, "docker-credential-bad: exit code 1: no such bus");
  EXPECT_EQ(Find("j.io/a").trouble, "");
  EXPECT_NE(Find("k.io/a").trouble.find("docker-credential-gone"), std::string::npos);
  setenv("PATH", path.c_str(), 1);
}

TEST_F(Logins, CertificatesAreThoseOfTheEngines) {
  const auto environment = [this](const std::string&) { return std::optional(dir_->path()); };
  EXPECT_EQ(CertificatesFor("h.io:5000", environment), "");
  Write(".config/containers/certs.d/h.io:5000/ca.crt", "x");
  EXPECT_EQ(CertificatesFor("h.io:5000", environment),
            dir_->path() + "/.config/containers/certs.d/h.io:5000/ca.crt");
}

}  // namespace
}  // namespace stoker

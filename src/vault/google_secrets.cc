// SPDX-License-Identifier: Apache-2.0
// Sources: discovery document of secretmanager v1; "Quotas and limits", "Create a secret" (Secret
// Manager documentation).
#include "vault/google_secrets.h"

#include <openssl/evp.h>

#include <algorithm>
#include <utility>

#include "base/base64.h"
#include "base/crc32c.h"
#include "base/json.h"
#include "base/text.h"
#include "google/credential_source.h"
#include "net/http_client.h"
#include "net/percent.h"
#include "net/system.h"
#include "provider/cloud/retrying.h"

namespace stoker::vault {
namespace {

using Body = nlohmann::ordered_json;

constexpr char kGoogle[] = "https://secretmanager.googleapis.com";
constexpr char kScope[] = "https://www.googleapis.com/auth/cloud-platform";
constexpr char kCaVariable[] = "CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE";
constexpr size_t kMostPayload = 64 << 10;
constexpr size_t kMostName = 255;
constexpr size_t kMostWords = 500;
constexpr int kMostListed = 1000;

struct Ask {
  std::string method, path, query;
  Body body = nullptr;
  std::string what;
  bool has_value = false;  // a refusal may repeat it
};

std::string TextOf(const Body& object, const char* name) {
  if (!object.is_object()) return "";
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

Result<std::string> DecodedPayload(const Body& payload) {
  const std::string data = TextOf(payload, "data");
  std::string out(data.size() / 4 * 3, '\0');
  if (data.size() % 4 != 0) return Status(Code::kUnavailable, "its payload is no base64");
  const int size = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                   reinterpret_cast<const unsigned char*>(data.data()),
                                   static_cast<int>(data.size()));
  if (size < 0) return Status(Code::kUnavailable, "its payload is no base64");
  out.resize(static_cast<size_t>(size) - (EndsWith(data, "==") ? 2 : EndsWith(data, "=") ? 1 : 0));
  const std::string sum = TextOf(payload, "dataCrc32c");
  if (!sum.empty() && sum != std::to_string(Crc32c(out))) {
    return Status(Code::kUnavailable, "its payload is not what its checksum says");
  }
  return out;
}

Status Refused(const Ask& ask, const HttpResponse& answer) {
  const Body parsed = Body::parse(answer.body, nullptr, false);
  const Body error = parsed.is_object() ? parsed.value("error", Body::object()) : Body::object();
  const std::string status = TextOf(error, "status");
  const std::string said = CutText(Printable(TextOf(error, "message")), kMostWords);
  const int code = answer.status;
  if (code == 404) return Status(Code::kNotFound, ask.what + " is not there");
  if (code == 409) return Status(Code::kExists, ask.what + " is there");
  if (code == 401 || code == 403) {
    const bool off = answer.body.find("SERVICE_DISABLED") != std::string::npos;
    return Status(Code::kDenied, ask.what + ": " + (said.empty() ? status : said),
                  off ? "Enable it: gcloud services enable secretmanager.googleapis.com"
                      : "'stoker doctor --iam' prints what the submitter and the machines' account "
                        "need");
  }
  const std::string word =
      ask.has_value || said.empty()
          ? "it was refused: " + (status.empty() ? std::to_string(code) : status)
          : said;
  if (code == 429) return Status(Code::kBusy, ask.what + ": " + word);
  return Status(code >= 500 ? Code::kUnavailable : Code::kInvalid, ask.what + ": " + word);
}

class GoogleSecrets : public Vault {
 public:
  explicit GoogleSecrets(GoogleSecretsOptions options)
      : options_(std::move(options)), retrying_(options_.retry, options_.seed) {}

  Result<std::string> Read(const SecretReference& reference) override {
    const bool versioned = reference.name.find("/versions/") != std::string::npos;
    const std::string name = reference.name + (versioned ? "" : "/versions/latest");
    const std::string what = "the secret " + name + " of Secret Manager";
    STOKER_ASSIGN(const Body got, Call({"GET", name + ":access", "", nullptr, what}));
    auto value = DecodedPayload(got.value("payload", Body::object()));
    if (!value.ok()) return value.status().WithContext(what);
    return value;
  }

  SecretReference PlaceOf(const SecretKey& key) const override {
    return {kGoogleSecret, "projects/" + options_.project + "/secrets/" + IdOf(key), ""};
  }

  Status Check(const SecretKey& key, const std::string& value) const override {
    if (value.size() > kMostPayload) {
      return Status(Code::kNoSpace,
                    "the secret " + key.name + " has " +
                        HumanSize(static_cast<int64_t>(value.size())) +
                        ", and one of Secret Manager holds 64 KiB",
                    "Keep it in a bucket that only its readers may read, and load it there");
    }
    if (IdOf(key).size() > kMostName) {
      return Status(Code::kInvalid, "the name of the secret " + key.name + " is too long",
                    "Use a shorter one");
    }
    return Status::Ok();
  }

  Status Put(const SecretKey& key, const std::string& value, WallTime expires) override {
    STOKER_TRY(Check(key, value));
    const std::string id = IdOf(key);
    const std::string name = PlaceOf(key).name;
    const Body secret = {{"replication", {{"automatic", Body::object()}}},
                         {"labels", {{"stoker-ledger", key.ledger}, {"stoker-job", key.job}}},
                         {"expireTime", FormatRfc3339(expires)}};
    const Status made = Call({"POST", "projects/" + options_.project + "/secrets",
                              "?secretId=" + id, secret, "making the secret " + name})
                            .status();
    if (!made.ok() && !made.Is(Code::kExists)) return made;
    const Body version = {
        {"payload", {{"data", Base64(value)}, {"dataCrc32c", std::to_string(Crc32c(value))}}}};
    return Call({"POST", name + ":addVersion", "", version, "putting the secret " + name, true})
        .status();
  }

  Result<std::vector<KeptSecret>> List(const std::string& ledger) override {
    std::vector<KeptSecret> out;
    std::string token;
    for (int page = 0; page < kMostListed; ++page) {
      std::string query =
          "?pageSize=1000&filter=" + PercentEncode("labels.stoker-ledger=" + ledger);
      if (!token.empty()) query += "&pageToken=" + PercentEncode(token);
      STOKER_ASSIGN(const Body got, Call({"GET", "projects/" + options_.project + "/secrets", query,
                                          nullptr, "secrets of " + options_.project}));
      for (const Body& one : got.value("secrets", Body::array())) {
        const std::string name = TextOf(one, "name");  // with the project's number
        KeptSecret kept;
        kept.id = "projects/" + options_.project + "/secrets/" + name.substr(name.rfind('/') + 1);
        kept.job = TextOf(one.value("labels", Body::object()), "stoker-job");
        kept.since = ParseRfc3339(TextOf(one, "createTime")).value_or(WallTime{});
        kept.expires = ParseRfc3339(TextOf(one, "expireTime")).value_or(WallTime{});
        out.push_back(std::move(kept));
      }
      token = TextOf(got, "nextPageToken");
      if (token.empty()) break;
    }
    return out;
  }

  Status Remove(const std::string& id) override {
    const Status gone = Call({"DELETE", id, "", nullptr, "removing the secret " + id}).status();
    return gone.Is(Code::kNotFound) ? Status::Ok() : gone;
  }

 private:
  static std::string IdOf(const SecretKey& key) {
    std::string id = "stoker-" + key.ledger + "-" + key.job + "-" + key.name;
    std::replace(id.begin(), id.end(), '.', '-');
    return id;
  }

  Result<HttpResponse> Send(const Ask& ask, const GoogleToken& token) {
    STOKER_ASSIGN(const HttpUrl url, ParseHttpUrl(options_.base));
    HttpRequest request;
    request.method = ask.method;
    request.target = url.prefix + "/v1/" + ask.path + ask.query;
    request.headers = {{"Host", HostHeader(url)}};
    if (!token.secret.empty()) {
      request.headers.emplace_back("Authorization", "Bearer " + token.secret);
    }
    if (!token.quota_project.empty()) {
      request.headers.emplace_back("x-goog-user-project", token.quota_project);
    }
    if (ask.method == "POST") {
      request.headers.emplace_back("Content-Type", "application/json");
      request.body = ask.body.dump();
    }
    return options_.http(url, request);
  }

  Result<Body> Once(const Ask& ask) {
    for (int time = 0;; ++time) {
      STOKER_ASSIGN(const GoogleToken token, options_.token());
      auto answer = Send(ask, token);
      if (!answer.ok()) return answer.status().WithContext(ask.what);
      if (answer->status == 401 && time == 0 && options_.token_refused) {
        options_.token_refused(token);
        continue;
      }
      if (answer->status / 100 != 2) return Refused(ask, *answer);
      Body out = Body::parse(answer->body.empty() ? "{}" : answer->body, nullptr, false);
      if (out.is_object()) return out;
      return Status(Code::kUnavailable, ask.what + ": the answer is no JSON");
    }
  }

  Result<Body> Call(const Ask& ask) {
    return retrying_.Call(
        [&] { return Once(ask); },
        [](const Result<Body>& got) { return !got.ok() && got.status().transient(); });
  }

  const GoogleSecretsOptions options_;
  cloud::Retrying retrying_;
};

}  // namespace

std::string GoogleSecretsEndpoint() { return SystemVariable(kEndpointVariable).value_or(""); }

std::unique_ptr<Vault> MakeGoogleSecrets(GoogleSecretsOptions options) {
  return std::make_unique<GoogleSecrets>(std::move(options));
}

Result<std::unique_ptr<Vault>> OpenGoogleSecrets(const std::string& project) {
  GoogleSecretsOptions options;
  options.project = project;
  options.base = GoogleSecretsEndpoint();
  if (options.base.empty()) options.base = kGoogle;
  while (EndsWith(options.base, "/")) options.base.pop_back();
  const HttpPoolOptions http = SystemPoolOptions(SystemVariable(kCaVariable).value_or(""));
  auto source = std::make_shared<GoogleCredentialSource>(
      SystemGoogleEnvironment(SystemCredentialSender(http)), kScope);
  options.token = [source] { return source->Get(); };
  options.token_refused = [source](const GoogleToken& token) { source->Reject(token); };
  auto pool = std::make_shared<HttpPool>(http);
  options.http = [pool](const HttpUrl& url, const HttpRequest& request) {
    return pool->Call(url, request);
  };
  options.seed = SystemSeed();
  return MakeGoogleSecrets(std::move(options));
}

}  // namespace stoker::vault

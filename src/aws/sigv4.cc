// SPDX-License-Identifier: Apache-2.0
#include "aws/sigv4.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <strings.h>

#include <mutex>

#include "aws/canonical_request.h"
#include "base/digest.h"
#include "net/percent.h"

namespace stoker {
namespace {

constexpr char kAlgorithm[] = "AWS4-HMAC-SHA256";

std::string Hmac(std::string_view key, std::string_view text) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
       reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest, &size);
  return {reinterpret_cast<const char*>(digest), size};
}

// "20130524T000000Z"
std::string Timestamp(WallTime time) {
  std::string out;
  const std::string text = FormatRfc3339(time);
  for (const char c : text.substr(0, text.find('.'))) {
    if (c != '-' && c != ':') out += c;
  }
  return out + "Z";
}

void RemoveHeader(HttpHeaders* headers, std::string_view name) {
  std::erase_if(*headers, [&](const auto& header) {
    return header.first.size() == name.size() &&
           strncasecmp(header.first.data(), name.data(), name.size()) == 0;
  });
}

Status NeedHost(const HttpRequest& request) {
  if (FindHeader(request.headers, "host") != nullptr) return Status::Ok();
  return Status(Code::kInternal, "a request to AWS is signed without its Host header");
}

}  // namespace

// Deriving the key costs four HMACs; it is the same for a day.
struct AwsSigner::LastKey {
  std::mutex mutex;
  std::string secret, day, key;

  std::string Get(const std::string& new_secret, const std::string& new_day,
                  const std::string& region, const std::string& service) {
    const std::lock_guard lock(mutex);
    if (key.empty() || secret != new_secret || day != new_day) {
      secret = new_secret;
      day = new_day;
      key = Hmac(Hmac(Hmac(Hmac("AWS4" + secret, day), region), service), "aws4_request");
    }
    return key;
  }
};

AwsSigner::AwsSigner(std::string region, std::string service)
    : region_(std::move(region)),
      service_(std::move(service)),
      s3_(service_ == "s3"),
      last_key_(std::make_unique<LastKey>()) {}
AwsSigner::~AwsSigner() = default;

std::string AwsSigner::Scope(const std::string& timestamp) const {
  return timestamp.substr(0, 8) + "/" + region_ + "/" + service_ + "/aws4_request";
}

std::string AwsSigner::Signature(const AwsCredentials& credentials, const std::string& timestamp,
                                 const std::string& canonical_request) const {
  const std::string text = std::string(kAlgorithm) + "\n" + timestamp + "\n" + Scope(timestamp) +
                           "\n" + Sha256Hex(canonical_request);
  const std::string key =
      last_key_->Get(credentials.secret_key, timestamp.substr(0, 8), region_, service_);
  return HexOf(Hmac(key, text));
}

Status AwsSigner::Sign(const AwsCredentials& credentials, WallTime now, HttpRequest* request,
                       std::string_view payload_hash) const {
  STOKER_TRY(NeedHost(*request));
  HttpHeaders& headers = request->headers;
  for (const char* name :
       {"Authorization", "x-amz-date", "x-amz-security-token", "x-amz-content-sha256"}) {
    RemoveHeader(&headers, name);
  }
  const std::string timestamp = Timestamp(now);
  const std::string hash =
      payload_hash.empty() ? Sha256Hex(request->body) : std::string(payload_hash);
  headers.emplace_back("x-amz-date", timestamp);
  // Other services hash the body themselves, and must be told when it is not covered.
  if (s3_ || hash == kUnsignedPayload) headers.emplace_back("x-amz-content-sha256", hash);
  if (!credentials.session_token.empty()) {
    headers.emplace_back("x-amz-security-token", credentials.session_token);
  }
  const std::string names = SignedHeaderNames(headers);
  const std::string signature =
      Signature(credentials, timestamp, CanonicalRequest(*request, s3_, hash));
  headers.emplace_back("Authorization", std::string(kAlgorithm) +
                                            " Credential=" + credentials.access_key + "/" +
                                            Scope(timestamp) + ", SignedHeaders=" + names +
                                            ", Signature=" + signature);
  return Status::Ok();
}

}  // namespace stoker

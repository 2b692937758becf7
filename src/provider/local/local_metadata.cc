// SPDX-License-Identifier: Apache-2.0
#include "provider/local/local_metadata.h"

#include <cstdio>

#include "base/text.h"
#include "sys/file.h"

namespace stoker {
namespace {

constexpr char kTtl[] = "X-aws-ec2-metadata-token-ttl-seconds";
constexpr char kToken[] = "X-aws-ec2-metadata-token";
constexpr size_t kMaxTokens = 256;

HttpResponse Text(int status, std::string body) {
  return {status, {{"Content-Type", "text/plain"}, {"Server", "EC2ws"}}, std::move(body)};
}

}  // namespace

LocalMetadata::LocalMetadata(std::string dir, LocalBoot boot, std::string address, Clock& clock)
    : dir_(std::move(dir)), boot_(std::move(boot)), address_(std::move(address)), clock_(clock) {}

HttpResponse LocalMetadata::Answer(const HttpRequest& request) {
  std::string path = request.target.substr(0, request.target.find('?'));
  if (path == "/latest/api/token") {
    return request.method == "PUT" ? NewToken(request) : Text(405, "");
  }
  if (request.method != "GET" && request.method != "HEAD") return Text(405, "");
  const std::string* token = FindHeader(request.headers, kToken);
  if (token == nullptr || !Knows(*token)) return Text(401, "");
  return Value(path);
}

HttpResponse LocalMetadata::NewToken(const HttpRequest& request) {
  // As the real service does, against requests that a proxy forwards.
  if (FindHeader(request.headers, "X-Forwarded-For") != nullptr) return Text(403, "");
  const std::string* ttl = FindHeader(request.headers, kTtl);
  const auto seconds = ttl != nullptr ? WholeNumber(*ttl, 1, 21'600) : std::nullopt;
  if (!seconds) return Text(400, "");
  char token[40];
  std::snprintf(token, sizeof token, "%016llx%016llx",
                static_cast<unsigned long long>(sys::RandomU64()),
                static_cast<unsigned long long>(sys::RandomU64()));
  std::lock_guard<std::mutex> lock(mutex_);
  if (tokens_.size() >= kMaxTokens) tokens_.erase(tokens_.begin());
  tokens_.emplace(clock_.Mono() + Duration::Seconds(*seconds), token);
  HttpResponse response = Text(200, token);
  response.headers.emplace_back(kTtl, std::to_string(*seconds));
  return response;
}

bool LocalMetadata::Knows(const std::string& token) {
  std::lock_guard<std::mutex> lock(mutex_);
  const MonoTime now = clock_.Mono();
  while (!tokens_.empty() && tokens_.begin()->first <= now) tokens_.erase(tokens_.begin());
  for (const auto& [end, known] : tokens_) {
    if (known == token) return true;
  }
  return false;
}

HttpResponse LocalMetadata::Value(const std::string& path) const {
  constexpr std::string_view kRoot = "/latest/meta-data/";
  if (!StartsWith(path, kRoot)) return Text(404, "");
  const std::string name = path.substr(kRoot.size());
  if (name == "instance-id") return Text(200, boot_.instance_id);
  if (name == "local-ipv4") return Text(200, boot_.address.empty() ? address_ : boot_.address);
  if (name == "instance-life-cycle") return Text(200, "spot");
  if (name == "ami-launch-index") return Text(200, "0");
  if (name == "spot/instance-action") {
    const auto notice = ReadLocalNotice(dir_);
    if (notice.ok() && *notice) return Text(200, EncodeNotice(**notice));
    return Text(404, "");
  }
  if (name == "tags/instance" || name == "tags/instance/") {
    return Text(200, "stoker-expires\nstoker-job\nstoker-launch\nstoker-ledger");
  }
  if (name == "tags/instance/stoker-job") return Text(200, boot_.request.job);
  if (name == "tags/instance/stoker-ledger") return Text(200, boot_.request.ledger_id);
  if (name == "tags/instance/stoker-launch") {
    return Text(200, std::to_string(boot_.launch));
  }
  if (name == "tags/instance/stoker-expires") {
    const auto expires = ReadLocalLease(dir_);
    if (expires.ok()) return Text(200, FormatRfc3339(*expires));
  }
  return Text(404, "");
}

}  // namespace stoker

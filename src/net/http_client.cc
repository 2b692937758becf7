// SPDX-License-Identifier: Apache-2.0
#include "net/http_client.h"

#include "net/connect.h"
#include "net/http_codec.h"

namespace stoker {
namespace {

Result<HttpResponse> Exchange(const HttpUrl& url, const HttpRequest& request,
                              const HttpClientOptions& options) {
  STOKER_ASSIGN(const std::string bytes, EncodeHttpRequest(request, HostHeader(url)));
  STOKER_ASSIGN(const Socket socket,
                ConnectTcp(url.host, url.port, Deadline(options.connect_timeout)));
  const Deadline deadline(options.total_timeout);
  STOKER_TRY(SendAll(socket, bytes, deadline));
  const auto read = [&](char* buffer, size_t size) {
    return ReceiveSome(socket, buffer, size, deadline);
  };
  return ReadHttpResponse(read, request.method, {options.max_header_bytes, options.max_body_bytes});
}

}  // namespace

bool Listens(const std::string& base_url) {
  const auto url = ParseHttpUrl(base_url);
  return url.ok() && ConnectTcp(url->host, url->port, Deadline(Duration::Seconds(2))).ok();
}

Result<HttpResponse> HttpCall(const HttpUrl& url, HttpRequest request,
                              const HttpClientOptions& options) {
  if (url.tls) return Status(Code::kInvalid, OriginText(url) + ": http:// is wanted here");
  request.target = url.prefix + request.target;
  request.headers.emplace_back("Connection", "close");
  auto response = Exchange(url, request, options);
  if (response.ok()) return response;
  return response.status().WithContext(request.method + " " + OriginText(url) + request.target);
}

}  // namespace stoker

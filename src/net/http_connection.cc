// SPDX-License-Identifier: Apache-2.0
#include "net/http_connection.h"

#include <utility>

#include "net/connect.h"

namespace stoker {
namespace {

constexpr int64_t kMaxHeaderBytes = 64 << 10;
constexpr size_t kSmallBody = 16 << 10;
// How long to wait for the reason why a peer stopped reading.
constexpr Duration kEarlyAnswer = Duration::Seconds(2);

std::string AuthorityOf(const HttpUrl& url) {
  const bool v6 = url.host.find(':') != std::string::npos;
  return (v6 ? "[" + url.host + "]" : url.host) + ":" + std::to_string(url.port);
}

// Has the proxy connect to `url` for us.
Status Tunnel(const Socket& socket, const HttpUrl& url, const HttpProxy& proxy,
              const Deadline& deadline) {
  HttpRequest request{"CONNECT", AuthorityOf(url), {{"Host", AuthorityOf(url)}}, ""};
  if (!proxy.authorization.empty()) {
    request.headers.emplace_back("Proxy-Authorization", proxy.authorization);
  }
  STOKER_ASSIGN(const std::string head, EncodeHttpRequestHead(request, "", 0));
  STOKER_TRY(SendAll(socket, head, deadline));
  // A byte at a time: what follows the answer is TLS and not ours to take.
  const auto read = [&](char* buffer, size_t) { return ReceiveSome(socket, buffer, 1, deadline); };
  // As of HEAD: what follows a yes is no body.
  STOKER_ASSIGN(const HttpResponseStart answer,
                ReadHttpResponseStart(read, "HEAD", kMaxHeaderBytes));
  if (answer.head.status / 100 == 2) return Status::Ok();
  const bool denied = answer.head.status == 407 || answer.head.status == 403;
  return Status(denied ? Code::kDenied : Code::kUnavailable,
                "the proxy answers " + std::to_string(answer.head.status),
                denied ? "Look at https_proxy in the environment: its user and password" : "");
}

// Straight, or through `proxy` where it only passes bytes on.
Result<std::unique_ptr<Stream>> OpenStream(const HttpUrl& url,
                                           const std::optional<HttpProxy>& proxy,
                                           const std::shared_ptr<TlsTrust>& trust,
                                           const HttpTimeouts& timeouts) {
  const Deadline deadline(timeouts.connect);
  const HttpUrl& first = proxy ? proxy->url : url;
  STOKER_ASSIGN(Socket socket, ConnectTcp(first.host, first.port, deadline));
  if (proxy && url.tls) {
    if (proxy->url.tls) {
      return Status(Code::kInvalid, "a proxy that is itself https:// cannot lead to https://",
                    "Name the proxy as http://host:port: what passes it is encrypted anyway");
    }
    STOKER_TRY(Tunnel(socket, url, *proxy, deadline));
  }
  if (!first.tls && !url.tls) return PlainStream(std::move(socket));
  return trust->Connect(std::move(socket), url.tls ? url.host : first.host, deadline);
}

}  // namespace

Result<std::unique_ptr<HttpConnection>> HttpConnection::Open(const HttpUrl& url,
                                                             const std::optional<HttpProxy>& proxy,
                                                             const std::shared_ptr<TlsTrust>& trust,
                                                             const HttpTimeouts& timeouts) {
  auto stream = OpenStream(url, proxy, trust, timeouts);
  if (!stream.ok()) {
    const std::string by = proxy ? " through the proxy " + OriginText(proxy->url) : "";
    return stream.status().WithContext("connecting to " + OriginText(url) + by);
  }
  std::unique_ptr<HttpConnection> made(new HttpConnection(std::move(*stream), url, timeouts));
  if (proxy && !url.tls) {
    made->through_proxy_ = true;
    made->to_proxy_ = proxy->authorization;
  }
  return made;
}

Status HttpConnection::Send(const HttpRequest& request, const HttpFileBody& file) {
  const int64_t behind = file.fd >= 0 ? file.size + static_cast<int64_t>(file.tail.size()) : 0;
  const int64_t size = static_cast<int64_t>(request.body.size()) + behind;
  std::string head;
  if (through_proxy_) {
    HttpRequest whole{request.method, OriginText(url_) + request.target, request.headers, ""};
    if (!to_proxy_.empty()) whole.headers.emplace_back("Proxy-Authorization", to_proxy_);
    STOKER_ASSIGN(head, EncodeHttpRequestHead(whole, HostHeader(url_), size));
  } else {
    STOKER_ASSIGN(head, EncodeHttpRequestHead(request, HostHeader(url_), size));
  }
  // A small body goes with its head: one packet, and one record of TLS.
  const bool small = request.body.size() <= kSmallBody;
  if (small) head += request.body;
  STOKER_TRY(stream_->Write(head, timeouts_.stall));
  if (!small) STOKER_TRY(stream_->Write(request.body, timeouts_.stall));
  if (file.fd < 0) return Status::Ok();
  STOKER_TRY(stream_->WriteFile(file.fd, file.offset, file.size, timeouts_.stall));
  return file.tail.empty() ? Status::Ok() : stream_->Write(file.tail, timeouts_.stall);
}

Result<HttpResponse> HttpConnection::Exchange(const HttpRequest& request,
                                              const HttpFileBody& file) {
  body_.reset();
  const Status sent = Send(request, file);
  // A server that has heard enough answers, and hangs up: the answer says why.
  const Duration first = sent.ok() ? timeouts_.first_byte : kEarlyAnswer;
  failed_ = !sent.ok();
  if (!sent.ok() && !sent.Is(Code::kUnavailable)) return sent;
  bool begun = false;
  const auto read = [&](char* buffer, size_t size) {
    auto got = stream_->Read(buffer, size, begun ? timeouts_.stall : first);
    begun = true;
    return got;
  };
  auto start = ReadHttpResponseStart(read, request.method, kMaxHeaderBytes);
  if (!start.ok()) {
    failed_ = true;
    return sent.ok() ? start.status() : sent;
  }
  body_ = std::move(start->body);
  return std::move(start->head);
}

Result<int64_t> HttpConnection::ReadBody(char* buffer, int64_t size) {
  const auto read = [&](char* into, size_t most) {
    return stream_->Read(into, most, timeouts_.stall);
  };
  auto got = body_->Read(read, buffer, size);
  if (!got.ok()) failed_ = true;
  return got;
}

bool HttpConnection::Reusable() {
  return !failed_ && body_ != nullptr && body_->ReadyForNext() && stream_->Quiet();
}

}  // namespace stoker

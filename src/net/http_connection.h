// SPDX-License-Identifier: Apache-2.0
// One HTTP/1.1 connection and the exchanges on it, one after the other.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "net/http_codec.h"
#include "net/http_message.h"
#include "net/proxy.h"
#include "net/stream.h"
#include "net/tls.h"

namespace stoker {

struct HttpTimeouts {
  // A look-up, connecting and the TLS handshake.
  Duration connect = Duration::Seconds(10);
  Duration first_byte = Duration::Seconds(60);  // from the last byte sent to the answer's first
  Duration stall = Duration::Seconds(30);       // no byte moves in the middle of something
};

// What is sent behind `HttpRequest::body`: a part of a file, which stays the caller's, and a few
// bytes behind it.
struct HttpFileBody {
  int fd = -1;  // -1 = none, and nothing behind it
  int64_t offset = 0;
  int64_t size = 0;
  std::string tail = "";
};

// Not thread-safe.
class HttpConnection {
 public:
  // Straight, or through `proxy` (CONNECT for TLS). `trust` may be null where neither uses TLS.
  static Result<std::unique_ptr<HttpConnection>> Open(const HttpUrl& url,
                                                      const std::optional<HttpProxy>& proxy,
                                                      const std::shared_ptr<TlsTrust>& trust,
                                                      const HttpTimeouts& timeouts);

  // Sends the request and reads the head of the answer; interim answers are passed over. When the
  // peer stops reading and answers early, that answer is returned. kUnavailable, kTimeout;
  // kCorrupt: not HTTP.
  Result<HttpResponse> Exchange(const HttpRequest& request, const HttpFileBody& file);
  // The answer's body, in order; 0 at its end. kCorrupt: it is cut off or malformed.
  Result<int64_t> ReadBody(char* buffer, int64_t size);
  // Of the answer whose head was read last; nullopt: not known before its end.
  std::optional<int64_t> body_size() const { return body_ ? body_->body_size() : std::nullopt; }
  // The exchange is over, and another may follow.
  bool Reusable();

 private:
  HttpConnection(std::unique_ptr<Stream> stream, HttpUrl url, HttpTimeouts timeouts)
      : stream_(std::move(stream)), url_(std::move(url)), timeouts_(timeouts) {}
  Status Send(const HttpRequest& request, const HttpFileBody& file);

  std::unique_ptr<Stream> stream_;
  HttpUrl url_;
  HttpTimeouts timeouts_;
  bool through_proxy_ = false;  // without CONNECT: a request names the whole address
  std::string to_proxy_;        // and carries this authorization; a secret
  std::unique_ptr<HttpBodyReader> body_;
  bool failed_ = false;
};

}  // namespace stoker

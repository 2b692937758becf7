// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/time.h"
#include "net/http_codec.h"
#include "net/http_message.h"

namespace stoker {

struct HttpServerOptions {
  std::string address = "127.0.0.1";
  int port = 0;  // 0 = a free one
  Duration request_timeout =
      Duration::Seconds(5);                       // first to last byte of a request, and to answer
  Duration idle_timeout = Duration::Seconds(15);  // between two requests of a connection
  int64_t max_header_bytes = 16 << 10;
  int64_t max_body_bytes = 1 << 20;
  int max_connections = 64;  // more wait in the kernel's queue
  // One that waits while all are taken: the connection that has been quiet between requests for
  // longest is closed for it.
  bool evict_idle = false;
  int max_streams = 1 << 30;  // answers with a `stream` at a time; more are answered with 503
};

// What a handler answers: whole, or with a body that is made while it is sent. HttpResponse's body
// is then not sent, and the connection is closed behind the stream. `stream` runs on the
// connection's own thread until it returns; each write may take as long as a request, and fails
// when the peer is gone or the server ends.
struct HttpReply {
  HttpReply(HttpResponse whole) : head(std::move(whole)) {}  // NOLINT: as a handler would say it
  HttpReply(HttpResponse begin, std::function<void(const WriteBytes& write)> rest)
      : head(std::move(begin)), stream(std::move(rest)) {}
  HttpResponse head;
  std::function<void(const WriteBytes& write)> stream;
};

// Called on the connection's own thread: several at once. May throw nothing.
using HttpHandler = std::function<HttpReply(const HttpRequest&)>;

// A small HTTP/1.1 server: keep-alive, bounded in every direction, one thread a connection.
class HttpServer {
 public:
  // kExists when the port is taken.
  static Result<std::unique_ptr<HttpServer>> Start(const HttpServerOptions& options,
                                                   HttpHandler handler);
  // Cuts off what is open and returns when no handler runs any more.
  virtual ~HttpServer() = default;
  virtual int port() const = 0;
};

}  // namespace stoker

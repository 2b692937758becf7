// SPDX-License-Identifier: Apache-2.0
// HTTP as a client: one request on its own connection, or many over connections that are kept.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "net/http_connection.h"
#include "net/http_message.h"

namespace stoker {

struct HttpClientOptions {
  Duration connect_timeout = Duration::Seconds(2);
  Duration total_timeout = Duration::Seconds(5);  // from sending to the last byte
  int64_t max_header_bytes = 16 << 10;
  int64_t max_body_bytes = 1 << 20;
};

// One request on its own connection, without TLS and past any proxy: for what is beside us, such as
// metadata. `request.target` goes behind `url.prefix`. Any status is a response. Thread-safe.
// kUnavailable, kTimeout, kCorrupt (not HTTP, cut off), kNoSpace (over a limit), kInvalid (https).
Result<HttpResponse> HttpCall(const HttpUrl& url, HttpRequest request,
                              const HttpClientOptions& options = {});

// Whether a connection to "http://host[:port]" is taken, within two seconds and past any proxy.
// Thread-safe.
bool Listens(const std::string& base_url);

struct HttpPoolOptions {
  HttpTimeouts timeouts;
  std::string ca_file;  // trusted certificates; "" = those of the system
  // nullptr: no proxy. Else where https_proxy and the like are looked up, at each new connection.
  std::function<std::optional<std::string>(const std::string& name)> environment;
  Duration idle = Duration::Seconds(20);  // servers drop what is idle; S3 after some 20 s
  int64_t max_body_bytes = 64 << 20;      // of answers that are read whole
};

// An answer whose body is read by the caller. Not thread-safe.
class HttpAnswer {
 public:
  virtual ~HttpAnswer() = default;  // the connection is kept only if the body was read to its end
  virtual const HttpResponse& head() const = 0;
  virtual std::optional<int64_t> body_size() const = 0;
  // Up to `size` > 0 bytes; 0 at the end. kCorrupt: cut off or malformed.
  virtual Result<int64_t> Read(char* buffer, int64_t size) = 0;
};

// Connections that are kept between requests, by address. Thread-safe; the answers must not outlive
// it. Sends nothing twice: whoever calls knows what may be repeated.
class HttpPool {
 public:
  explicit HttpPool(HttpPoolOptions options);
  ~HttpPool();

  // Any status is an answer. `request.target` is the whole path and query. kDenied: a certificate
  // or a proxy; kUnavailable, kTimeout: it may have taken effect; kCorrupt; kNoSpace.
  Result<HttpResponse> Call(const HttpUrl& url, const HttpRequest& request,
                            const HttpFileBody& file = {});
  Result<std::unique_ptr<HttpAnswer>> Open(const HttpUrl& url, const HttpRequest& request,
                                           const HttpFileBody& file = {});

 private:
  friend class PooledAnswer;
  struct Idle {
    std::unique_ptr<HttpConnection> connection;
    MonoTime since;
  };
  Result<std::unique_ptr<HttpConnection>> Take(const HttpUrl& url);
  void GiveBack(const std::string& origin, std::unique_ptr<HttpConnection> connection);
  Result<std::shared_ptr<TlsTrust>> Trust();

  const HttpPoolOptions options_;
  std::mutex mutex_;
  std::map<std::string, std::vector<Idle>> idle_;  // by origin; the last is the youngest
  std::shared_ptr<TlsTrust> trust_;
};

// Reads all of it. kNoSpace: more than `max_bytes`.
Result<std::string> ReadWhole(HttpAnswer& answer, int64_t max_bytes);

}  // namespace stoker

// SPDX-License-Identifier: Apache-2.0
// HTTP/1.1 messages out of bytes and back. The only file besides its .cc that knows the parser.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "net/http_message.h"

namespace stoker {

struct HttpLimits {
  int64_t max_header_bytes = 16 << 10;
  int64_t max_body_bytes = 1 << 20;
};

// Up to `size` bytes into `buffer`; 0 at the end of the stream.
using ReadBytes = std::function<Result<size_t>(char* buffer, size_t size)>;
using WriteBytes = std::function<Status(std::string_view bytes)>;

struct ReceivedRequest {
  HttpRequest request;
  bool keep_alive = false;
};

// The next request; nullopt when the stream ended between two. `ahead` keeps bytes that were read
// past it. Answers "Expect: 100-continue" through `write`. kInvalid = malformed, kNoSpace = over a
// limit, else what `read` failed with.
Result<std::optional<ReceivedRequest>> ReadHttpRequest(const ReadBytes& read,
                                                       const WriteBytes& write, std::string& ahead,
                                                       const HttpLimits& limits);
// The response to a request of `method`. kCorrupt = malformed or cut off, kNoSpace = over a limit.
Result<HttpResponse> ReadHttpResponse(const ReadBytes& read, const std::string& method,
                                      const HttpLimits& limits);

// The body of one response, piece by piece. Not thread-safe.
class HttpBodyReader {
 public:
  virtual ~HttpBodyReader() = default;
  // Up to `size` > 0 bytes; 0 at the end. Of a body whose length is known they come from `read`
  // straight into `buffer`. kCorrupt = malformed or cut off, else what `read` failed with.
  virtual Result<int64_t> Read(const ReadBytes& read, char* buffer, int64_t size) = 0;
  virtual std::optional<int64_t> body_size() const = 0;  // nullopt: not known before its end
  // The whole body was read, and the peer keeps the connection for another request.
  virtual bool ReadyForNext() const = 0;
};

struct HttpResponseStart {
  HttpResponse head;  // its body is empty
  std::unique_ptr<HttpBodyReader> body;
};

// As ReadHttpResponse, but only to the end of the header.
Result<HttpResponseStart> ReadHttpResponseStart(const ReadBytes& read, const std::string& method,
                                                int64_t max_header_bytes);

// Without the body, which follows: `body_size` bytes of it. kInvalid: the target has a blank or a
// control character, so that what is behind it would be read as something else.
Result<std::string> EncodeHttpRequestHead(const HttpRequest& request, const std::string& host,
                                          int64_t body_size);
Result<std::string> EncodeHttpRequest(const HttpRequest& request, const std::string& host);
// `keep_alive` false adds "Connection: close".
std::string EncodeHttpResponse(const HttpResponse& response, const std::string& method,
                               bool keep_alive);

}  // namespace stoker

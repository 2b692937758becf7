// SPDX-License-Identifier: Apache-2.0
// Responses that are read in two steps: their head, then their body piece by piece.
#include <algorithm>
#include <boost/beast/http.hpp>
#include <cstring>
#include <limits>

#include "net/http_codec.h"

namespace stoker {
namespace {

namespace http = boost::beast::http;
using boost::system::error_code;
using Parser = http::response_parser<http::buffer_body>;

constexpr size_t kReadBytes = 8 << 10;

Status CutOff() { return Status(Code::kCorrupt, "HTTP: the answer's body is cut off"); }

// Reads into `ahead`; false at the end of the stream.
Result<bool> ReadAhead(const ReadBytes& read, std::string& ahead) {
  const size_t before = ahead.size();
  ahead.resize(before + kReadBytes);
  const auto got = read(ahead.data() + before, kReadBytes);
  ahead.resize(before + (got.ok() ? *got : 0));
  if (!got.ok()) return got.status();
  return *got > 0;
}

class Body : public HttpBodyReader {
 public:
  Body(std::unique_ptr<Parser> parser, std::string ahead)
      : parser_(std::move(parser)), ahead_(std::move(ahead)), keep_alive_(parser_->keep_alive()) {
    if (parser_->is_done()) {
      size_ = 0;
    } else if (!parser_->chunked() && parser_->content_length()) {
      size_ = static_cast<int64_t>(*parser_->content_length());
    }
    until_close_ = !size_ && !parser_->chunked();
    left_ = size_.value_or(0);
  }

  Result<int64_t> Read(const ReadBytes& read, char* buffer, int64_t size) override {
    if (size_) return ReadKnown(read, buffer, size);
    return until_close_ ? ReadToClose(read, buffer, size) : ReadChunked(read, buffer, size);
  }
  std::optional<int64_t> body_size() const override { return size_; }
  bool ReadyForNext() const override {
    const bool whole = size_ ? left_ == 0 : parser_->is_done();
    return keep_alive_ && whole && !until_close_ && ahead_.empty();
  }

 private:
  int64_t TakeAhead(char* buffer, int64_t size) {
    const size_t n = std::min(ahead_.size(), static_cast<size_t>(size));
    std::memcpy(buffer, ahead_.data(), n);
    ahead_.erase(0, n);
    return static_cast<int64_t>(n);
  }

  Result<int64_t> ReadKnown(const ReadBytes& read, char* buffer, int64_t size) {
    size = std::min(size, left_);
    if (size == 0) return int64_t{0};
    int64_t got = TakeAhead(buffer, size);
    if (got == 0) {
      STOKER_ASSIGN(const size_t n, read(buffer, static_cast<size_t>(size)));
      got = static_cast<int64_t>(n);
    }
    if (got == 0) return CutOff();
    left_ -= got;
    return got;
  }

  Result<int64_t> ReadToClose(const ReadBytes& read, char* buffer, int64_t size) {
    if (!ahead_.empty()) return TakeAhead(buffer, size);
    STOKER_ASSIGN(const size_t n, read(buffer, static_cast<size_t>(size)));
    return static_cast<int64_t>(n);
  }

  Result<int64_t> ReadChunked(const ReadBytes& read, char* buffer, int64_t size) {
    auto& body = parser_->get().body();
    body.data = buffer;
    body.size = static_cast<size_t>(size);
    body.more = true;
    while (!parser_->is_done() && body.size == static_cast<size_t>(size)) {
      error_code error;
      const size_t used = parser_->put(boost::asio::buffer(ahead_), error);
      ahead_.erase(0, used);
      if (error == http::error::need_buffer) error = {};
      if (error && error != http::error::need_more) {
        return Status(Code::kCorrupt, "HTTP: " + error.message());
      }
      if (error != http::error::need_more && (used > 0 || !ahead_.empty())) continue;
      STOKER_ASSIGN(const bool more, ReadAhead(read, ahead_));
      if (!more) return CutOff();
    }
    return size - static_cast<int64_t>(body.size);
  }

  std::unique_ptr<Parser> parser_;
  std::string ahead_;  // read beyond what was asked for
  std::optional<int64_t> size_;
  int64_t left_ = 0;
  bool until_close_ = false;
  bool keep_alive_ = false;
};

// To the end of the header.
Result<std::unique_ptr<Parser>> ReadHead(const ReadBytes& read, const std::string& method,
                                         int64_t max_header_bytes, std::string& ahead) {
  auto parser = std::make_unique<Parser>();
  parser->eager(false);
  parser->header_limit(static_cast<std::uint32_t>(max_header_bytes));
  // Not boost::none: of that, Boost 1.74 says that every length is above it.
  parser->body_limit(std::numeric_limits<std::uint64_t>::max());
  if (method == "HEAD") parser->skip(true);
  while (!parser->is_header_done()) {
    error_code error;
    ahead.erase(0, parser->put(boost::asio::buffer(ahead), error));
    if (error == http::error::header_limit) {
      return Status(Code::kNoSpace, "HTTP: the answer's header is over the limit");
    }
    if (error && error != http::error::need_more) {
      return Status(Code::kCorrupt, "HTTP: " + error.message());
    }
    if (parser->is_header_done()) break;
    const bool begun = parser->got_some() || !ahead.empty();
    STOKER_ASSIGN(const bool more, ReadAhead(read, ahead));
    if (more) continue;
    // A server that closes what it kept open is no broken server.
    if (!begun) {
      return Status(Code::kUnavailable, "HTTP: the connection closed without an answer");
    }
    return Status(Code::kCorrupt, "HTTP: the answer's header is cut off");
  }
  return parser;
}

}  // namespace

Result<HttpResponseStart> ReadHttpResponseStart(const ReadBytes& read, const std::string& method,
                                                int64_t max_header_bytes) {
  std::string ahead;
  while (true) {
    STOKER_ASSIGN(std::unique_ptr<Parser> parser, ReadHead(read, method, max_header_bytes, ahead));
    const auto& message = parser->get();
    if (message.result_int() / 100 == 1) continue;  // an interim answer
    HttpResponseStart out;
    out.head.status = static_cast<int>(message.result_int());
    for (const auto& field : message) {
      out.head.headers.emplace_back(std::string(field.name_string()), std::string(field.value()));
    }
    out.body = std::make_unique<Body>(std::move(parser), std::move(ahead));
    return out;
  }
}

}  // namespace stoker

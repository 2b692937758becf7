// SPDX-License-Identifier: Apache-2.0
#include "net/http_codec.h"
#include "net/http_head.h"

#include <algorithm>
#include <boost/beast/http.hpp>

#include "base/text.h"

namespace stoker {
namespace {

namespace http = boost::beast::http;
using boost::system::error_code;

constexpr size_t kPieceBytes = 8 << 10;
constexpr char kContinue[] = "HTTP/1.1 100 Continue\r\n\r\n";

bool OverLimit(const error_code& error) {
  return error == http::error::header_limit || error == http::error::body_limit;
}

// Feeds `parser` until the message is whole. True when it is; false when the stream ended before
// its first byte. `at_header` runs once the header is there.
template <typename Parser>
Result<bool> Fill(Parser& parser, const ReadBytes& read, std::string& ahead, Code malformed,
                  const std::function<Status()>& at_header) {
  bool told = false;
  char buffer[kPieceBytes];
  while (true) {
    error_code error;
    while (!ahead.empty() && !parser.is_done() && !error) {
      ahead.erase(0, parser.put(boost::asio::buffer(ahead), error));
      if (parser.is_header_done() && !error && !std::exchange(told, true)) STOKER_TRY(at_header());
    }
    if (error == http::error::need_more) error = {};
    if (error) {
      return Status(OverLimit(error) ? Code::kNoSpace : malformed, "HTTP: " + error.message());
    }
    if (parser.is_done()) return true;
    STOKER_ASSIGN(const size_t n, read(buffer, sizeof buffer));
    if (n > 0) {
      ahead.append(buffer, n);
      continue;
    }
    if (!parser.got_some() && ahead.empty()) return false;
    parser.put_eof(error);
    if (error || !parser.is_done()) return Status(malformed, "HTTP: the message is cut off");
    return true;
  }
}

template <typename Fields>
HttpHeaders HeadersOf(const Fields& fields) {
  HttpHeaders out;
  for (const auto& field : fields) {
    out.emplace_back(std::string(field.name_string()), std::string(field.value()));
  }
  return out;
}

void AddHeaders(std::string& out, const HttpHeaders& headers) {
  for (const auto& [name, value] : headers) out += name + ": " + value + "\r\n";
}

template <typename Parser>
void Limit(Parser& parser, const HttpLimits& limits) {
  // An eager parser of Boost 1.74 forgets that the length is over the limit when the first bytes of
  // the body come with the header.
  parser.eager(false);
  parser.header_limit(static_cast<std::uint32_t>(limits.max_header_bytes));
  parser.body_limit(static_cast<std::uint64_t>(limits.max_body_bytes));
}

}  // namespace

Result<std::optional<ReceivedRequest>> ReadHttpRequest(const ReadBytes& read,
                                                       const WriteBytes& write, std::string& ahead,
                                                       const HttpLimits& limits) {
  http::request_parser<http::string_body> parser;
  Limit(parser, limits);
  const auto at_header = [&]() -> Status {
    const bool expects = boost::beast::iequals(parser.get()[http::field::expect], "100-continue");
    return expects && !parser.is_done() ? write(kContinue) : Status::Ok();
  };
  STOKER_ASSIGN(const bool whole, Fill(parser, read, ahead, Code::kInvalid, at_header));
  if (!whole) return std::optional<ReceivedRequest>();
  ReceivedRequest out;
  out.keep_alive = parser.keep_alive();
  auto message = parser.release();
  out.request.method = std::string(message.method_string());
  out.request.target = std::string(message.target());
  out.request.headers = HeadersOf(message);
  out.request.body = std::move(message.body());
  return std::optional<ReceivedRequest>(std::move(out));
}

Result<HttpResponse> ReadHttpResponse(const ReadBytes& read, const std::string& method,
                                      const HttpLimits& limits) {
  std::string ahead;
  while (true) {
    http::response_parser<http::string_body> parser;
    Limit(parser, limits);
    if (method == "HEAD") parser.skip(true);
    STOKER_ASSIGN(const bool whole,
                  Fill(parser, read, ahead, Code::kCorrupt, [] { return Status::Ok(); }));
    if (!whole) return Status(Code::kCorrupt, "HTTP: the connection closed without an answer");
    auto message = parser.release();
    if (message.result_int() / 100 == 1) continue;  // an interim answer
    HttpResponse out;
    out.status = static_cast<int>(message.result_int());
    out.headers = HeadersOf(message);
    out.body = std::move(message.body());
    return out;
  }
}

Result<std::string> EncodeHttpRequestHead(const HttpRequest& request, const std::string& host,
                                          int64_t body_size) {
  const auto bad = [](unsigned char c) { return c <= ' ' || c == 0x7f; };
  if (std::any_of(request.target.begin(), request.target.end(), bad)) {
    return Status(Code::kInvalid, "HTTP: no target of a request is " + Printable(request.target));
  }
  std::string out = request.method + " " + request.target + " HTTP/1.1\r\n";
  if (FindHeader(request.headers, "Host") == nullptr) out += "Host: " + host + "\r\n";
  AddHeaders(out, request.headers);
  const bool has_body = body_size > 0 || request.method == "PUT" || request.method == "POST";
  if (has_body && FindHeader(request.headers, "Content-Length") == nullptr) {
    out += "Content-Length: " + std::to_string(body_size) + "\r\n";
  }
  return out + "\r\n";
}

Result<std::string> EncodeHttpRequest(const HttpRequest& request, const std::string& host) {
  const auto size = static_cast<int64_t>(request.body.size());
  STOKER_ASSIGN(const std::string head, EncodeHttpRequestHead(request, host, size));
  return head + request.body;
}

namespace {

// The status line and the headers, without the empty line behind them.
std::string StatusAndHeaders(const HttpResponse& response) {
  const auto reason = http::obsolete_reason(static_cast<http::status>(response.status));
  std::string out = "HTTP/1.1 " + std::to_string(response.status) + " " + std::string(reason);
  out += "\r\n";
  AddHeaders(out, response.headers);
  return out;
}

}  // namespace

std::string EncodeHttpResponseHead(const HttpResponse& response) {
  return StatusAndHeaders(response) + "Connection: close\r\n\r\n";
}

std::string EncodeHttpResponse(const HttpResponse& response, const std::string& method,
                               bool keep_alive) {
  std::string out = StatusAndHeaders(response);
  if (FindHeader(response.headers, "Content-Length") == nullptr) {
    out += "Content-Length: " + std::to_string(response.body.size()) + "\r\n";
  }
  if (!keep_alive) out += "Connection: close\r\n";
  out += "\r\n";
  return method == "HEAD" ? out : out + response.body;
}

}  // namespace stoker

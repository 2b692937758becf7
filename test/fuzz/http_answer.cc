// SPDX-License-Identifier: Apache-2.0
// What comes back on a connection, and what is asked of a server of ours.
#include <algorithm>
#include <cstring>

#include "net/http_codec.h"
#include "net/http_date.h"
#include "net/percent.h"
#include "store/gcs/gcs_answer.h"
#include "store/s3/s3_answer.h"
#include "test/fuzz/target.h"

namespace stoker::fuzz {
namespace {

constexpr int64_t kMostBody = 4096;
constexpr HttpLimits kSmall = {1024, kMostBody};

ReadBytes Arriving(std::string_view bytes, size_t piece) {
  size_t at = 0;
  int ends = 0;
  return [bytes, piece, at, ends](char* buffer, size_t size) mutable -> Result<size_t> {
    const size_t got = std::min({size, bytes.size() - at, piece});
    std::memcpy(buffer, bytes.data() + at, got);
    at += got;
    FUZZ_EXPECT(got > 0 || ++ends < 4, "reads again and again behind the end");
    return got;
  };
}

bool Same(const HttpResponse& one, const HttpResponse& other) {
  return one.status == other.status && one.headers == other.headers && one.body == other.body;
}

// Beast counts what it had to look at twice: of two heads of nearly the limit, one that comes in
// pieces may be over it. Stores send a small part of the limit that stoker sets.
bool OverTheLimitInPieces(const Status& status, std::string_view input) {
  return status.Is(Code::kNoSpace) &&
         input.size() > static_cast<size_t>(kSmall.max_header_bytes) / 2;
}

// All of `few`, in their order, with others in between.
bool IsWithin(const HttpHeaders& few, const HttpHeaders& many) {
  auto next = few.begin();
  for (const auto& header : many) {
    if (next != few.end() && *next == header) ++next;
  }
  return next == few.end();
}

// Head and body, as files are fetched.
void ExpectStreamed(std::string_view input, const std::string& method,
                    const Result<HttpResponse>& whole) {
  const ReadBytes read = Arriving(input, 5);
  auto start = ReadHttpResponseStart(read, method, kSmall.max_header_bytes);
  if (!start.ok()) {
    FUZZ_EXPECT(!whole.ok() || OverTheLimitInPieces(start.status(), input),
                "only the head was refused: " + start.status().ToString());
    return;
  }
  std::string body;
  char buffer[64];
  while (true) {
    const auto got = start->body->Read(read, buffer, sizeof buffer);
    if (!got.ok()) {
      FUZZ_EXPECT(!whole.ok(), "only the body in pieces was refused: " + got.status().ToString());
      return;
    }
    if (*got == 0) break;
    FUZZ_EXPECT(*got > 0 && *got <= static_cast<int64_t>(sizeof buffer), "beyond the buffer");
    body.append(buffer, static_cast<size_t>(*got));
  }
  FUZZ_EXPECT(body.size() <= input.size(), "more than came");
  if (const auto size = start->body->body_size(); size && method != "HEAD") {
    FUZZ_EXPECT(*size == static_cast<int64_t>(body.size()), "another length than was said");
  }
  FUZZ_EXPECT(!whole.ok() || whole->status == start->head.status, "another status");
  // The whole one has those behind a chunked body too, each next to others of its name.
  FUZZ_EXPECT(!whole.ok() || IsWithin(start->head.headers, whole->headers), "other headers");
  FUZZ_EXPECT(!whole.ok() || whole->body == body, "another body");
  FUZZ_EXPECT(whole.ok() || body.size() > kMostBody || !whole.status().Is(Code::kNoSpace) ||
                  start->body->body_size() > kMostBody,
              "refused for its size: " + whole.status().ToString());
}

void ExpectSame(std::string_view input, const std::string& method) {
  const auto answer = ReadHttpResponse(Arriving(input, 1 << 20), method, kSmall);
  const auto slowly = ReadHttpResponse(Arriving(input, 3), method, kSmall);
  if (answer.ok() && !slowly.ok()) {
    FUZZ_EXPECT(OverTheLimitInPieces(slowly.status(), input), slowly.status().ToString());
    return;
  }
  FUZZ_EXPECT(answer.ok() == slowly.ok(), answer.status().ToString() + slowly.status().ToString());
  ExpectStreamed(input, method, answer);
  if (!answer.ok()) {
    FUZZ_EXPECT(Refused(answer.status(), Code::kCorrupt, Code::kNoSpace),
                answer.status().ToString());
    return;
  }
  FUZZ_EXPECT(Same(*answer, *slowly), "another answer in small pieces");
  FUZZ_EXPECT(answer->body.size() <= kMostBody, std::to_string(answer->body.size()));
  size_t header_bytes = 0;
  for (const auto& [name, value] : answer->headers) header_bytes += name.size() + value.size();
  // What stands behind a chunked body has the limit for itself.
  FUZZ_EXPECT(header_bytes <= 2 * static_cast<size_t>(kSmall.max_header_bytes), "a large header");
}

// What stores and credentials read out of headers.
void ExpectHeaders(const HttpHeaders& headers) {
  const WallTime now{1'700'000'000'000};
  (void)DateOf(headers, now);
  for (const auto& [name, value] : headers) {
    FUZZ_EXPECT(name.find_first_of("\r\n") == name.npos, name);
    FUZZ_EXPECT(value.find_first_of("\r\n") == value.npos, value);
    FUZZ_EXPECT(ParseRetryAfter(value, now).ms >= 0, value);
    FUZZ_EXPECT(PercentDecode(PercentEncode(value)) == value, value);
    FUZZ_EXPECT(PercentDecode(PercentEncodePath(value)) == value, value);
    (void)ParseHttpUrl(value);
  }
  const auto object = s3::InfoOf("GET", headers);
  FUZZ_EXPECT(!object.ok() || object->size >= 0, "a negative size");
  (void)s3::ChecksumOf(headers);
  const auto head = gcs::ParseHead("GET", headers);
  FUZZ_EXPECT(!head.ok() || head->info.size >= 0, "a negative size");
  const auto stored = gcs::ParseStored("PUT", headers);
  FUZZ_EXPECT(!stored.ok() || *stored >= 0, "less than nothing is stored");
}

void ExpectRequest(std::string_view input) {
  const auto answer_nothing = [](std::string_view) { return Status::Ok(); };
  const ReadBytes read = Arriving(input, 64);
  std::string ahead;
  for (int count = 0;; ++count) {
    FUZZ_EXPECT(count < 10'000, "requests without an end");
    const auto request = ReadHttpRequest(read, answer_nothing, ahead, kSmall);
    if (!request.ok()) {
      FUZZ_EXPECT(Refused(request.status(), Code::kInvalid, Code::kNoSpace),
                  request.status().ToString());
      return;
    }
    if (!*request) return;
    FUZZ_EXPECT((*request)->request.body.size() <= kMostBody, "a large body");
    if (!(*request)->keep_alive) return;
  }
}

}  // namespace
}  // namespace stoker::fuzz

FUZZ_TARGET(http_answer) {
  using namespace stoker;
  using namespace stoker::fuzz;
  for (const char* method : {"GET", "HEAD"}) ExpectSame(input, method);
  const auto answer = ReadHttpResponse(Arriving(input, 1 << 20), "GET", kSmall);
  ExpectRequest(input);
  if (!answer.ok()) return;
  ExpectHeaders(answer->headers);
  // Without what says how the body came, the same again.
  HttpResponse plain = *answer;
  plain.headers.clear();
  const bool empty = plain.status / 100 == 1 || plain.status == 204 || plain.status == 304;
  if (empty || plain.status < 200 || plain.status > 599) return;
  const auto again =
      ReadHttpResponse(Arriving(EncodeHttpResponse(plain, "GET", true), 9), "GET", kSmall);
  FUZZ_EXPECT(again.ok(), again.status().ToString());
  FUZZ_EXPECT(again->status == plain.status && again->body == plain.body, again->body);
}

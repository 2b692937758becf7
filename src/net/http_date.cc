// SPDX-License-Identifier: Apache-2.0
#include "net/http_date.h"

#include <algorithm>
#include <charconv>
#include <string>

#include "base/text.h"

namespace stoker {

Result<WallTime> ParseHttpDate(std::string_view text) {
  static constexpr std::string_view kMonths = "JanFebMarAprMayJunJulAugSepOctNovDec";
  const Status bad(Code::kCorrupt, "not an HTTP date: '" + Printable(text.substr(0, 60)) + "'");
  // "Sun, 06 Nov 1994 08:49:37 GMT"
  if (text.size() != 29 || text.substr(3, 2) != ", " || text.substr(25) != " GMT") return bad;
  const size_t month = kMonths.find(text.substr(8, 3));
  if (month == std::string_view::npos || month % 3 != 0) return bad;
  const std::string number = Padded(static_cast<int64_t>(month / 3 + 1), 2);
  const std::string rfc3339 = std::string(text.substr(12, 4)) + "-" + number + "-" +
                              std::string(text.substr(5, 2)) + "T" +
                              std::string(text.substr(17, 8)) + "Z";
  auto time = ParseRfc3339(rfc3339);
  return time.ok() ? time : bad;
}

Duration ParseRetryAfter(std::string_view text, WallTime now) {
  int64_t seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error == std::errc() && end == text.data() + text.size()) {
    return Duration::Seconds(std::clamp<int64_t>(seconds, 0, 86'400));
  }
  const auto date = ParseHttpDate(text);
  return date.ok() ? std::max(Duration{}, *date - now) : Duration{};
}

WallTime DateOf(const HttpHeaders& headers, WallTime otherwise) {
  const std::string* date = FindHeader(headers, "Date");
  const auto parsed = date == nullptr ? Result<WallTime>(otherwise) : ParseHttpDate(*date);
  return parsed.ok() ? *parsed : otherwise;
}

}  // namespace stoker

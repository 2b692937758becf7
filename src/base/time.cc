// SPDX-License-Identifier: Apache-2.0
#include "base/time.h"

#include <array>
#include <charconv>
#include <cstdio>
#include <limits>

namespace stoker {
namespace {

// Days since 1970-01-01 of a proleptic Gregorian date, and back (Howard Hinnant's public-domain
// algorithms): timegm and gmtime would tie pure code to the C library's locale and zone state.
int64_t DaysFromCivil(int64_t y, int64_t m, int64_t d) {
  y -= m <= 2;
  const int64_t era = (y >= 0 ? y : y - 399) / 400;
  const int64_t yoe = y - era * 400;
  const int64_t doy = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;
  const int64_t doe = yoe * 365 + yoe / 4 - yoe / 100 + doy;
  return era * 146097 + doe - 719468;
}

struct Civil {
  int64_t year, month, day;
};

Civil CivilFromDays(int64_t z) {
  z += 719468;
  const int64_t era = (z >= 0 ? z : z - 146096) / 146097;
  const int64_t doe = z - era * 146097;
  const int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
  const int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
  const int64_t mp = (5 * doy + 2) / 153;
  const int64_t month = mp + (mp < 10 ? 3 : -9);
  return {yoe + era * 400 + (month <= 2), month, doy - (153 * mp + 2) / 5 + 1};
}

bool Digits(std::string_view text, size_t at, size_t count, int64_t* out) {
  if (at + count > text.size()) return false;
  int64_t value = 0;
  for (size_t i = at; i < at + count; ++i) {
    if (text[i] < '0' || text[i] > '9') return false;
    value = value * 10 + (text[i] - '0');
  }
  *out = value;
  return true;
}

struct Unit {
  std::string_view name;
  int64_t ms;
};
constexpr std::array<Unit, 5> kUnits = {
    {{"d", 86'400'000}, {"h", 3'600'000}, {"m", 60'000}, {"s", 1000}, {"ms", 1}}};

}  // namespace

std::string FormatRfc3339(WallTime t) {
  int64_t days = t.ms / 86'400'000;
  int64_t rest = t.ms % 86'400'000;
  if (rest < 0) {
    rest += 86'400'000;
    --days;
  }
  const Civil c = CivilFromDays(days);
  char out[64];
  std::snprintf(out, sizeof out, "%04lld-%02lld-%02lldT%02lld:%02lld:%02lld.%03lldZ",
                static_cast<long long>(c.year), static_cast<long long>(c.month),
                static_cast<long long>(c.day), static_cast<long long>(rest / 3'600'000),
                static_cast<long long>(rest / 60'000 % 60),
                static_cast<long long>(rest / 1000 % 60), static_cast<long long>(rest % 1000));
  return out;
}

Result<WallTime> ParseRfc3339(std::string_view text) {
  const Status bad(Code::kInvalid,
                   "not an RFC 3339 time: '" + std::string(text.substr(0, 40)) + "'");
  int64_t y, mo, d, h, mi, s, ms = 0;
  if (!Digits(text, 0, 4, &y) || !Digits(text, 5, 2, &mo) || !Digits(text, 8, 2, &d) ||
      !Digits(text, 11, 2, &h) || !Digits(text, 14, 2, &mi) || !Digits(text, 17, 2, &s))
    return bad;
  if (text[4] != '-' || text[7] != '-' || text[13] != ':' || text[16] != ':') return bad;
  if (text[10] != 'T' && text[10] != 't' && text[10] != ' ') return bad;
  if (mo < 1 || mo > 12 || d < 1 || d > 31 || h > 23 || mi > 59 || s > 60) return bad;
  // 30 February would be taken for a day in March.
  const Civil same = CivilFromDays(DaysFromCivil(y, mo, d));
  if (same.month != mo || same.day != d) return bad;
  size_t at = 19;
  if (at < text.size() && text[at] == '.') {
    int64_t scale = 100;
    for (++at; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at, scale /= 10) {
      ms += (text[at] - '0') * scale;
    }
    if (at == 20) return bad;
  }
  int64_t zone = 0;
  if (at == text.size()) return bad;
  if (text[at] == '+' || text[at] == '-') {
    int64_t zh, zm;
    if (!Digits(text, at + 1, 2, &zh) || !Digits(text, at + 4, 2, &zm)) return bad;
    if (text[at + 3] != ':' || text.size() != at + 6 || zh > 23 || zm > 59) return bad;
    zone = (zh * 60 + zm) * (text[at] == '-' ? -1 : 1);
  } else if (text.substr(at) != "Z" && text.substr(at) != "z") {
    return bad;
  }
  return WallTime{(DaysFromCivil(y, mo, d) * 86400 + h * 3600 + (mi - zone) * 60 + s) * 1000 + ms};
}

Result<Duration> ParseDuration(std::string_view text) {
  const Status bad(Code::kInvalid, "not a duration: '" + std::string(text.substr(0, 40)) + "'",
                   "Write a number and a unit: 500ms, 90s, 30m, 8h, 2d or 1h30m");
  if (text.empty()) return bad;
  int64_t total = 0;
  int64_t last_unit = std::numeric_limits<int64_t>::max();
  while (!text.empty()) {
    int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || text[0] == '-') return bad;
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    size_t length = 0;
    while (length < text.size() && text[length] >= 'a' && text[length] <= 'z') ++length;
    int64_t unit = 0;
    for (const Unit& u : kUnits)
      if (u.name == text.substr(0, length)) unit = u.ms;
    // Units must fall ("1h30m"), and the sum must stay far from overflow.
    if (unit == 0 || unit >= last_unit || number > 36'500LL * 86'400'000 / unit) return bad;
    total += number * unit;
    last_unit = unit;
    text.remove_prefix(length);
  }
  return Duration{total};
}

std::string FormatDuration(Duration d) {
  if (d.ms == 0) return "0s";
  std::string out = d.ms < 0 ? "-" : "";
  int64_t rest = d.ms < 0 ? -d.ms : d.ms;
  for (const Unit& u : kUnits) {
    if (rest >= u.ms) {
      out += std::to_string(rest / u.ms) + std::string(u.name);
      rest %= u.ms;
    }
  }
  return out;
}

std::string HumanDuration(Duration d) {
  const int64_t s = d.ms / 1000;
  // Two clocks differ by less than they seem to: nothing took less than no time.
  if (d.ms < 0) return "0ms";
  if (d.ms < 1000) return std::to_string(d.ms) + "ms";
  if (s < 60) return std::to_string(s) + "s";
  if (s < 3600) return std::to_string(s / 60) + "m " + std::to_string(s % 60) + "s";
  if (s < 86400) return std::to_string(s / 3600) + "h " + std::to_string(s / 60 % 60) + "m";
  return std::to_string(s / 86400) + "d " + std::to_string(s / 3600 % 24) + "h";
}

}  // namespace stoker

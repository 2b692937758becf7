// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>

#include "base/screen.h"

namespace stoker {
namespace {

// Insertions, deletions, changes and swaps of neighbours ("naem"), each counted once.
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1), row(b.size() + 1), next(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    next[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t change = row[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      next[j] = std::min({row[j] + 1, next[j - 1] + 1, change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        next[j] = std::min(next[j], before[j - 2] + 1);
      }
    }
    std::swap(before, row);
    std::swap(row, next);
  }
  return row[b.size()];
}

}  // namespace

std::string Nearest(std::string_view word, const std::vector<std::string>& candidates) {
  std::string best;
  size_t best_distance = std::max<size_t>(1, word.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    // Lengths this far apart cannot be near: keeps a megabyte of garbage cheap.
    if (candidate.size() + best_distance < word.size()) continue;
    const size_t distance = EditDistance(word, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string QuotedPath(std::string_view path) { return "'" + Printable(path) + "'"; }

std::string CutText(std::string text, size_t bytes) {
  if (text.size() <= bytes) return text;
  while (bytes > 0 && (static_cast<unsigned char>(text[bytes]) & 0xc0) == 0x80) --bytes;
  text.resize(bytes);
  return text;
}

std::string Printable(std::string_view text, bool keep_newlines) {
  return Printable(text, keep_newlines, Colours::kNone);
}

std::optional<int64_t> WholeNumber(std::string_view text, int64_t low, int64_t high) {
  int64_t number = 0;
  const char* last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, number);
  const bool whole = !text.empty() && error == std::errc() && end == last;
  if (!whole || number < low || number > high) return std::nullopt;
  return number;
}

Result<int64_t> ParseSize(std::string_view text) {
  const Status bad(Code::kInvalid, "not a size: '" + std::string(text.substr(0, 40)) + "'",
                   "Write a number and a unit: 512KB, 100MB, 16GiB or 2TB");
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || text[0] == '-') return bad;
  const std::string_view unit = text.substr(static_cast<size_t>(end - text.data()));
  struct Unit {
    std::string_view name;
    int64_t scale;
  };
  static constexpr std::array<Unit, 10> kUnits = {{{"", 1},
                                                   {"B", 1},
                                                   {"KB", 1000},
                                                   {"MB", 1'000'000},
                                                   {"GB", 1'000'000'000},
                                                   {"TB", 1'000'000'000'000},
                                                   {"KiB", 1LL << 10},
                                                   {"MiB", 1LL << 20},
                                                   {"GiB", 1LL << 30},
                                                   {"TiB", 1LL << 40}}};
  for (const Unit& u : kUnits) {
    if (u.name == unit && number <= INT64_MAX / u.scale) return number * u.scale;
  }
  return bad;
}

std::string HumanFiles(int64_t count) {
  return std::to_string(count) + (count == 1 ? " file" : " files");
}

std::string PriceText(const std::optional<int64_t>& millionths) {
  if (!millionths) return "of unknown price";
  char text[40];
  std::snprintf(text, sizeof text, "%.4f $/h", static_cast<double>(*millionths) / 1e6);
  return text;
}

std::string HumanSize(int64_t bytes) {
  static constexpr const char* kUnits[] = {"B", "kB", "MB", "GB", "TB", "PB"};
  double value = static_cast<double>(bytes);
  int unit = 0;
  while (value >= 999.5 && unit < 5) {
    value /= 1000;
    ++unit;
  }
  char out[32];
  std::snprintf(out, sizeof out, unit == 0 || value >= 99.5 ? "%.0f %s" : "%.1f %s", value,
                kUnits[unit]);
  return out;
}

std::string HumanRate(int64_t bytes, Duration spent) {
  const double rate = static_cast<double>(bytes) / std::max(spent.seconds(), 0.001);
  return HumanSize(static_cast<int64_t>(rate)) + "/s";
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

bool IsAlnum(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool IsSafeName(std::string_view name) {
  if (name.empty() || name.size() > 64) return false;
  if (!IsAlnum(name[0])) return false;
  return std::all_of(name.begin(), name.end(),
                     [](char c) { return IsAlnum(c) || c == '.' || c == '_' || c == '-'; });
}

bool IsSafeRelativePath(std::string_view path) {
  if (path.empty() || path[0] == '/' || path.find('\0') != std::string_view::npos) return false;
  for (const std::string& part : Split(path, '/')) {
    if (part.empty() || part == "." || part == "..") return false;
  }
  return true;
}

std::vector<std::string> Split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (size_t at = 0;;) {
    const size_t end = text.find(separator, at);
    parts.emplace_back(text.substr(at, end == std::string_view::npos ? end : end - at));
    if (end == std::string_view::npos) return parts;
    at = end + 1;
  }
}

std::string Join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string out;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) out += separator;
    out += parts[i];
  }
  return out;
}

bool StartsWith(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

bool EndsWith(std::string_view text, std::string_view suffix) {
  return text.size() >= suffix.size() && text.substr(text.size() - suffix.size()) == suffix;
}

std::string ShellQuote(std::string_view word) {
  std::string out = "'";
  for (const char c : word) {
    if (c == '\'')
      out += "'\\''";
    else
      out += c;
  }
  return out + "'";
}

std::string Padded(int64_t value, int width) {
  char out[32];
  std::snprintf(out, sizeof out, "%0*lld", width, static_cast<long long>(value));
  return out;
}

std::string Hex64(uint64_t value) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string out(16, '0');
  for (size_t i = out.size(); i > 0; --i, value >>= 4) out[i - 1] = kHex[value & 15];
  return out;
}

}  // namespace stoker

// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal/table.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>

namespace stoker::cli {
namespace {

using Rows = std::vector<std::vector<std::string>>;

constexpr size_t kGap = 2;

struct Range {
  uint32_t first, last;
};

// Blocks as in Unicode's EastAsianWidth.txt (W and F), roughly.
constexpr std::array<Range, 17> kWide = {{{0x1100, 0x115f},
                                          {0x2e80, 0x303e},
                                          {0x3041, 0x33ff},
                                          {0x3400, 0x4dbf},
                                          {0x4e00, 0x9fff},
                                          {0xa000, 0xa4cf},
                                          {0xa960, 0xa97f},
                                          {0xac00, 0xd7a3},
                                          {0xf900, 0xfaff},
                                          {0xfe30, 0xfe6f},
                                          {0xff00, 0xff60},
                                          {0xffe0, 0xffe6},
                                          {0x1f300, 0x1f64f},
                                          {0x1f680, 0x1f6ff},
                                          {0x1f900, 0x1f9ff},
                                          {0x20000, 0x2fffd},
                                          {0x30000, 0x3fffd}}};
constexpr std::array<Range, 5> kJoining = {
    {{0x0300, 0x036f}, {0x200b, 0x200f}, {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}}};

template <size_t N>
bool In(const std::array<Range, N>& ranges, uint32_t code) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [&](const Range& r) { return code >= r.first && code <= r.last; });
}

// The character (or escape sequence) at `at`, which moves past it: its columns.
size_t NextWidth(std::string_view text, size_t* at) {
  if (text[*at] == '\x1b') {
    const size_t end = text.find('m', *at);
    *at = end == std::string_view::npos ? text.size() : end + 1;
    return 0;
  }
  const auto lead = static_cast<unsigned char>(text[(*at)++]);
  if (lead < 0x80) return 1;
  const size_t more = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : lead >= 0xc0 ? 1 : 0;
  uint32_t code = more == 0 ? lead : lead & (0x3fu >> more);
  for (size_t i = 0; i < more && *at < text.size(); ++i) {
    code = code << 6 | (static_cast<unsigned char>(text[(*at)++]) & 0x3f);
  }
  return In(kJoining, code) ? 0 : In(kWide, code) ? 2 : 1;
}

// One column a byte, as of nearly all cells: a list of ten thousand jobs has many. Without a branch
// for each byte, so that several are looked at at once.
bool IsPlain(std::string_view text) {
  bool other = false;
  for (const char c : text) other |= static_cast<unsigned char>(c) >= 0x80 || c == '\x1b';
  return !other;
}

std::vector<size_t> Widths(const Rows& rows) {
  std::vector<size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], DisplayWidth(row[i]));
  }
  return widths;
}

size_t Total(const std::vector<size_t>& widths) {
  const size_t gaps = widths.empty() ? 0 : kGap * (widths.size() - 1);
  return std::accumulate(widths.begin(), widths.end(), gaps);
}

// To `width` columns, colours kept.
std::string Cut(const std::string& text, size_t width) {
  std::string out;
  size_t used = 0;
  bool cut = false;
  for (size_t at = 0; at < text.size();) {
    const size_t from = at;
    const size_t columns = NextWidth(text, &at);
    const bool escape = text[from] == '\x1b';
    if (!escape && !cut && used + columns + 1 > width) {
      out += "…";
      cut = true;
    }
    if (cut && !escape) continue;
    used += columns;
    out += text.substr(from, at - from);
  }
  return out;
}

// The least that each column can be cut to.
std::vector<size_t> Least(const std::vector<size_t>& widths, const std::vector<ColumnRule>& rules) {
  std::vector<size_t> least = widths;
  for (size_t i = 0; i < least.size(); ++i) {
    if (rules[i].shrinks_to > 0) least[i] = std::min(least[i], rules[i].shrinks_to);
  }
  return least;
}

}  // namespace

size_t DisplayWidth(std::string_view text) {
  if (IsPlain(text)) return text.size();
  size_t width = 0;
  for (size_t at = 0; at < text.size();) width += NextWidth(text, &at);
  return width;
}

std::string FormatTable(const Rows& rows) {
  const std::vector<size_t> widths = Widths(rows);
  std::string out;
  for (const auto& row : rows) {
    const size_t begin = out.size();
    for (size_t i = 0; i < row.size(); ++i) {
      out += row[i];
      if (i + 1 < row.size()) out.append(widths[i] - DisplayWidth(row[i]) + kGap, ' ');
    }
    while (out.size() > begin && out.back() == ' ') out.pop_back();
    out += '\n';
  }
  return out;
}

FittedTable FitTable(Rows rows, std::vector<ColumnRule> rules, size_t width) {
  FittedTable fitted;
  std::vector<size_t> widths = Widths(rows);
  while (Total(Least(widths, rules)) > width) {
    const auto goes =
        std::max_element(rules.begin(), rules.end(),
                         [](const ColumnRule& a, const ColumnRule& b) { return a.goes < b.goes; });
    if (goes == rules.end() || goes->goes == 0) break;
    const auto column = goes - rules.begin();
    fitted.left_out.push_back(rows[0][static_cast<size_t>(column)]);
    for (auto& row : rows) row.erase(row.begin() + column);
    widths.erase(widths.begin() + column);
    rules.erase(goes);
  }
  const std::vector<size_t> whole = widths;
  // The widest that may be cut loses one column after the other.
  const std::vector<size_t> least = Least(widths, rules);
  while (Total(widths) > width) {
    size_t widest = widths.size();
    for (size_t i = 0; i < widths.size(); ++i) {
      if (widths[i] > least[i] && (widest == widths.size() || widths[i] > widths[widest])) {
        widest = i;
      }
    }
    if (widest == widths.size()) break;
    --widths[widest];
  }
  for (size_t i = 0; i < widths.size(); ++i) {
    if (widths[i] == whole[i]) continue;
    for (auto& row : rows) {
      if (i < row.size() && DisplayWidth(row[i]) > widths[i]) row[i] = Cut(row[i], widths[i]);
    }
  }
  fitted.text = FormatTable(rows);
  return fitted;
}

}  // namespace stoker::cli

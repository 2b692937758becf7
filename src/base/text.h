// SPDX-License-Identifier: Apache-2.0
// Small pure functions on text that several rooms need.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/time.h"

namespace stoker {

// The candidate nearest to `word` by edit distance, or "" when none is near enough to be a typo.
std::string Nearest(std::string_view word, const std::vector<std::string>& candidates);

// At most `bytes` of UTF-8 text, cut between characters, not inside one.
std::string CutText(std::string text, size_t bytes);

// `text` without control characters, escape sequences and invalid UTF-8 (replaced by '?'), so that
// untrusted text cannot drive a terminal. Tabs stay; newlines stay when `keep_newlines`.
std::string Printable(std::string_view text, bool keep_newlines = false);

// A path for a message: printable, between quotes.
std::string QuotedPath(std::string_view path);

// `text` as a whole number from `low` to `high`; nullopt when it is anything else, or more than
// digits behind at most a '-'.
std::optional<int64_t> WholeNumber(std::string_view text, int64_t low, int64_t high);

// "100MB" = 10^6 steps, "16GiB" = 2^10 steps, "512" = bytes.
Result<int64_t> ParseSize(std::string_view text);
// For people: "3.2 MB".
std::string HumanSize(int64_t bytes);

// "0.3500 $/h" of millionths of a dollar an hour; "of unknown price".
std::string PriceText(const std::optional<int64_t>& millionths);
// "1 file", "12 files".
std::string HumanFiles(int64_t count);

// For people: the bytes a second, "3.2 MB/s".
std::string HumanRate(int64_t bytes, Duration spent);

// An ASCII digit; an ASCII letter or digit; whatever the locale.
bool IsDigit(char c);
bool IsAlnum(char c);

// True for 1-64 of [A-Za-z0-9._-] that starts with a letter or digit: safe as a path component,
// a tag value and a command-line argument.
bool IsSafeName(std::string_view name);

// True when `path` is relative, non-empty, and has no empty, "." or ".." component and no NUL.
bool IsSafeRelativePath(std::string_view path);

std::vector<std::string> Split(std::string_view text, char separator);
std::string Join(const std::vector<std::string>& parts, std::string_view separator);
bool StartsWith(std::string_view text, std::string_view prefix);
bool EndsWith(std::string_view text, std::string_view suffix);

// Quoted for /bin/sh so that it is one word again, whatever it holds.
std::string ShellQuote(std::string_view word);

// `value` zero-padded to `width` digits.
std::string Padded(int64_t value, int width);
// Its 16 hex digits.
std::string Hex64(uint64_t value);

}  // namespace stoker

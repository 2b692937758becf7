// SPDX-License-Identifier: Apache-2.0
// The filter that all text passes on its way to a screen: what a record, a report, a job file or a
// name holds was written by anybody. Pure.
#pragma once

#include <string>
#include <string_view>

namespace stoker {

// Which colours (the escape sequences "ESC [ … m") it lets through.
enum class Colours {
  kNone,
  kOwn,  // those that stoker itself writes with: bold, dim, red, green, yellow, cyan, plain
  kAll,  // all of a program's own
};

// `text` without control characters (C1's too), escape sequences, what turns the direction of
// writing (bidi) and invalid UTF-8 (the latter two and C1 become '?'), so that it cannot drive a
// terminal, nor show other words than it holds. Tabs stay; newlines stay when `keep_newlines`.
// base/text.h has the short form, without colours.
std::string Printable(std::string_view text, bool keep_newlines, Colours colours);

// The same for text that is JSON: nothing is lost, as such characters, which JSON has in strings
// only, become \u escapes.
std::string PrintableJson(std::string_view json);

}  // namespace stoker

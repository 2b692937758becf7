// SPDX-License-Identifier: Apache-2.0
// Checks on the raw text of a YAML file, before and beside the YAML library. Inside spec/ only.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "spec/spec_error.h"

namespace stoker {

// True when all of `text` is well-formed UTF-8. Says nothing of NUL.
bool IsUtf8(std::string_view text);

// The text cut into lines, so that positions can be shown as editors show them.
class YamlText {
 public:
  YamlText(std::string_view text, std::string file);

  // What makes the text no text at all: too large, a NUL byte, bytes that are not UTF-8.
  std::optional<SpecError> CheckBytes() const;
  // An error at a line and byte column, both from 0 as the YAML library counts.
  SpecError ErrorAt(int line, int byte_column, std::string message, std::string hint = "") const;
  // The library's syntax error in words that say what to do.
  SpecError SyntaxError(int line, int byte_column, const std::string& library_message) const;
  // True when the scalar that starts here (maybe after an anchor) opens a quote that never closes:
  // yaml-cpp 0.7 takes the end of the file for the closing quote.
  bool QuoteStaysOpen(int line, int byte_column) const;
  // True when line `line` (from 0), or the one before it, is a document separator.
  bool StartsDocument(int line) const;
  int CharacterColumn(int line, int byte_column) const;  // from 1
  std::string_view Line(int line) const;                 // "" when there is no such line

 private:
  std::string_view text_;
  std::string file_;
  std::vector<size_t> starts_;
};

}  // namespace stoker

// SPDX-License-Identifier: Apache-2.0
// Checks on the raw text of a YAML file, before and beside the YAML library. Inside spec/ only.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/utf8.h"
#include "spec/text/spec_error.h"

namespace stoker {

// The text cut into lines, so that positions can be shown as editors show them. One thread only.
class YamlText {
 public:
  YamlText(std::string_view text, std::string file);

  // What makes the text no text at all: too large, a control character (YAML 1.2 §5.1
  // allows tab and line end), bytes that are not UTF-8.
  std::optional<SpecError> CheckBytes() const;
  // An error at a line and byte column, both from 0 as the YAML library counts.
  SpecError ErrorAt(int line, int byte_column, std::string message, std::string hint = "") const;
  // The library's syntax error in words that say what to do.
  SpecError SyntaxError(int line, int byte_column, const std::string& library_message) const;
  // True when the scalar that starts here (maybe after an anchor) opens a quote that never closes:
  // yaml-cpp 0.7 takes the end of the file for the closing quote.
  bool QuoteStaysOpen(int line, int byte_column) const;
  // True when the key that starts here, with `length` bytes of plain text, is followed by ':'.
  // yaml-cpp 0.7 takes a line without ':' for a key without a value.
  bool ColonFollows(int line, int byte_column, size_t length) const;
  // True when the key that starts here stands alone in a flow map, `{L4:1, A100:1}`: a key without
  // a value, as YAML means it.
  bool FlowEntryEnds(int line, int byte_column, size_t length) const;
  // The byte here, after an anchor; '\\0' at the end.
  char At(int line, int byte_column) const;
  // True when no line after this one holds anything.
  bool OnlyBlankAfter(int line) const;
  // True when null is spelled out here, and not meant by leaving something out.
  bool SaysNull(int line, int byte_column) const;
  // A '%' line before the document that is not %YAML: the library skips what it does not know.
  std::optional<SpecError> CheckDirectives() const;
  // True when line `line` (from 0), or the one before it, is a document separator.
  bool StartsDocument(int line) const;
  int CharacterColumn(int line, int byte_column) const;  // from 1
  std::string_view Line(int line) const;                 // "" when there is no such line

 private:
  // What follows the plain or quoted key that starts here, blanks left out; npos = nothing.
  size_t AfterKey(int line, int byte_column, size_t length, std::string_view blanks) const;
  size_t Offset(int line, int byte_column) const;
  size_t SkipAnchor(size_t at) const;
  // Past the closing quote of the quoted text at `at`; npos = it never closes.
  size_t QuoteEnd(size_t at) const;

  std::string_view text_;
  std::string file_;
  std::vector<size_t> starts_;
  // Where CharacterColumn stopped counting: positions come in rising order, and one line may hold
  // the whole file.
  mutable int counted_line_ = -1;
  mutable size_t counted_bytes_ = 0;
  mutable int counted_tails_ = 0;
};

}  // namespace stoker

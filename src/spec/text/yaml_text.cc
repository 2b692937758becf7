// SPDX-License-Identifier: Apache-2.0
#include "spec/text/yaml_text.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "spec/text/yaml_tree.h"

namespace stoker {
namespace {

struct Wording {
  std::string_view library;  // how yaml-cpp's message begins
  std::string_view message;
  std::string_view hint;
};

// yaml-cpp 0.7, exceptions.h. "illegal map value" is what it says of most slips.
constexpr std::array<Wording, 16> kWordings = {{
    {"illegal map value", "a ':' where no value can begin",
     "Check the indentation of this line and the one above, and quote text that holds ': '"},
    {"illegal map key", "a key where none can be", "Check the indentation"},
    {"illegal block entry", "a '-' where no list can be", "Check the indentation"},
    {"end of map not found", "a key without ':' or with another indentation",
     "Write 'key: value', with the indentation of its neighbours"},
    {"end of map flow not found", "a '{' that is not closed", "Close it with '}'"},
    {"end of sequence not found", "a list item without '- '", "Start every item with '- '"},
    {"end of sequence flow not found", "a '[' that is not closed", "Close it with ']'"},
    {"illegal flow end", "a closing bracket without an opening one",
     "Remove it, or quote the text"},
    {"illegal tab", "a tab in the indentation", "Indent with spaces"},
    {"unknown token", "a character that cannot begin a value", "Put the text in quotes"},
    {"the referenced anchor", "an alias to an anchor that does not exist",
     "Define '&name' before '*name', or quote text that begins with '*'"},
    {"alias not found", "a '*' that begins no alias", "Put the text in quotes"},
    {"anchor not found", "a '&' that begins no anchor", "Put the text in quotes"},
    {"illegal EOF in scalar", "a quote that is not closed", "Close it"},
    {"unexpected character in block scalar", "text after '|' or '>'",
     "Begin the text on the next line"},
    {"bad character found while scanning hex", "a wrong \\x, \\u or \\U in double quotes",
     "Use single quotes for text with backslashes"},
}};

}  // namespace

YamlText::YamlText(std::string_view text, std::string file) : text_(text), file_(std::move(file)) {
  starts_.push_back(0);
  for (size_t i = 0; i < text_.size(); ++i) {
    if (text_[i] == '\n') starts_.push_back(i + 1);
  }
}

std::string_view YamlText::Line(int line) const {
  if (line < 0 || static_cast<size_t>(line) >= starts_.size()) return {};
  const size_t start = starts_[static_cast<size_t>(line)];
  const size_t next = static_cast<size_t>(line) + 1;
  size_t end = next < starts_.size() ? starts_[next] - 1 : text_.size();
  if (end > start && text_[end - 1] == '\r') --end;
  return text_.substr(start, end - start);
}

int YamlText::CharacterColumn(int line, int byte_column) const {
  const std::string_view all = Line(line);
  const size_t end = std::min(all.size(), static_cast<size_t>(std::max(0, byte_column)));
  if (line != counted_line_ || end < counted_bytes_) {
    counted_line_ = line;
    counted_bytes_ = 0;
    counted_tails_ = 0;
  }
  for (; counted_bytes_ < end; ++counted_bytes_) {
    if ((static_cast<unsigned char>(all[counted_bytes_]) & 0xc0) == 0x80) ++counted_tails_;
  }
  return std::max(0, byte_column) - counted_tails_ + 1;
}

SpecError YamlText::ErrorAt(int line, int byte_column, std::string message,
                            std::string hint) const {
  const std::string_view all = Line(line);
  const size_t from = std::min(all.size(), static_cast<size_t>(std::max(0, byte_column)));
  SpecError error{file_,
                  std::max(0, line) + 1,
                  CharacterColumn(line, byte_column),
                  std::string(all.substr(from, 60)),
                  std::move(message),
                  std::move(hint)};
  return error;
}

std::optional<SpecError> YamlText::CheckBytes() const {
  if (static_cast<int64_t>(text_.size()) > kMaxYamlBytes) {
    return SpecError{file_,
                     1,
                     1,
                     "",
                     "the file has " + HumanSize(static_cast<int64_t>(text_.size())),
                     "A job file has at most 1 MiB: is this the right file?"};
  }
  int line = 0;
  for (size_t at = 0; at < text_.size();) {
    if (text_[at] == '\n') ++line;
    const size_t length = Utf8At(text_, at);
    const unsigned char c = static_cast<unsigned char>(text_[at]);
    const bool line_end = c == '\r' && at + 1 < text_.size() && text_[at + 1] == '\n';
    const bool control = (c < 0x20 && c != '\t' && c != '\n' && !line_end) || c == 0x7f;
    if (!control && length > 0) {
      at += length;
      continue;
    }
    const int column = static_cast<int>(at - starts_[static_cast<size_t>(line)]);
    if (length == 0) return ErrorAt(line, column, "not UTF-8", "Save the file as UTF-8");
    if (c == '\0') {
      return ErrorAt(line, column, "a NUL byte", "A job file is text: is this the right file?");
    }
    static constexpr char kHex[] = "0123456789abcdef";
    return ErrorAt(line, column, c == '\r' ? "a carriage return" : "a control character",
                   c == '\r'
                       ? "End lines with a line feed"
                       : std::string("In double quotes, write \\x") + kHex[c >> 4] + kHex[c & 15]);
  }
  return std::nullopt;
}

SpecError YamlText::SyntaxError(int line, int byte_column,
                                const std::string& library_message) const {
  for (const int near : {line, line - 1}) {
    const std::string_view all = Line(near);
    const size_t first = all.find_first_not_of(" \t");
    const size_t tab = all.find('\t');
    if (tab == std::string_view::npos || first == std::string_view::npos || tab > first) continue;
    return ErrorAt(near, static_cast<int>(tab), "a tab in the indentation", "Indent with spaces");
  }
  const std::string_view all = Line(line);
  const size_t at = std::min(all.size(), static_cast<size_t>(std::max(0, byte_column)));
  const std::string near_by = at < all.size() ? " at " + Quoted(all.substr(at)) : "";
  for (const Wording& wording : kWordings) {
    if (!StartsWith(library_message, wording.library)) continue;
    return ErrorAt(line, byte_column, "not YAML: " + std::string(wording.message) + near_by,
                   std::string(wording.hint));
  }
  return ErrorAt(line, byte_column, "not YAML: " + library_message + near_by);
}

size_t YamlText::Offset(int line, int byte_column) const {
  if (line < 0 || static_cast<size_t>(line) >= starts_.size()) return text_.size();
  const size_t at =
      starts_[static_cast<size_t>(line)] + static_cast<size_t>(std::max(0, byte_column));
  return std::min(at, text_.size());
}

size_t YamlText::SkipAnchor(size_t at) const {
  if (at >= text_.size() || text_[at] != '&') return at;
  at = std::min(text_.find_first_of(" \t\r\n", at), text_.size());
  return std::min(text_.find_first_not_of(" \t\r\n", at), text_.size());
}

size_t YamlText::QuoteEnd(size_t at) const {
  const char quote = text_[at];
  for (++at; at < text_.size(); ++at) {
    if (quote == '"' && text_[at] == '\\') {
      ++at;
    } else if (text_[at] == quote) {
      if (quote == '"' || at + 1 >= text_.size() || text_[at + 1] != quote) return at + 1;
      ++at;
    }
  }
  return std::string_view::npos;
}

bool YamlText::QuoteStaysOpen(int line, int byte_column) const {
  const size_t at = SkipAnchor(Offset(line, byte_column));
  if (at >= text_.size() || (text_[at] != '\'' && text_[at] != '"')) return false;
  return QuoteEnd(at) == std::string_view::npos;
}

size_t YamlText::AfterKey(int line, int byte_column, size_t length, std::string_view blanks) const {
  size_t at = SkipAnchor(Offset(line, byte_column));
  if (at >= text_.size()) return std::string_view::npos;
  const bool quoted = text_[at] == '\'' || text_[at] == '"';
  at = std::min(quoted ? QuoteEnd(at) : at + length, text_.size());
  return text_.find_first_not_of(blanks, at);
}

bool YamlText::ColonFollows(int line, int byte_column, size_t length) const {
  const size_t at = AfterKey(line, byte_column, length, " \t");
  return at != std::string_view::npos && text_[at] == ':';
}

bool YamlText::FlowEntryEnds(int line, int byte_column, size_t length) const {
  const size_t at = AfterKey(line, byte_column, length, " \t\r\n");
  return at != std::string_view::npos && (text_[at] == ',' || text_[at] == '}');
}

bool YamlText::SaysNull(int line, int byte_column) const {
  const std::string_view rest = text_.substr(SkipAnchor(Offset(line, byte_column)));
  for (const std::string_view word : {"~", "null", "Null", "NULL"}) {
    if (!StartsWith(rest, word)) continue;
    if (rest.size() == word.size()) return true;
    return std::string_view(" \t\r\n,]}").find(rest[word.size()]) != std::string_view::npos;
  }
  return false;
}

char YamlText::At(int line, int byte_column) const {
  const size_t at = SkipAnchor(Offset(line, byte_column));
  return at < text_.size() ? text_[at] : '\0';
}

bool YamlText::OnlyBlankAfter(int line) const {
  const size_t next = static_cast<size_t>(line) + 1;
  if (next >= starts_.size()) return true;
  return text_.find_first_not_of(" \t\r\n", starts_[next]) == std::string_view::npos;
}

std::optional<SpecError> YamlText::CheckDirectives() const {
  for (int line = 0; static_cast<size_t>(line) < starts_.size(); ++line) {
    const std::string_view all = Line(line);
    const size_t first = all.find_first_not_of(" \t");
    if (first == std::string_view::npos || all[first] == '#') continue;
    if (all[0] != '%' || StartsWith(all, "%YAML 1.")) return std::nullopt;
    return ErrorAt(line, 0, "the directive " + Quoted(all), "Remove it");
  }
  return std::nullopt;
}

bool YamlText::StartsDocument(int line) const {
  return StartsWith(Line(line), "---") || (line > 0 && StartsWith(Line(line - 1), "---"));
}

}  // namespace stoker

// SPDX-License-Identifier: Apache-2.0
#include "aws/ini.h"

#include "base/letter_case.h"
#include "base/text.h"

namespace stoker {
namespace {

std::string_view Stripped(std::string_view text) {
  constexpr char kSpace[] = " \t\r\n\v\f";
  const size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return "";
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

class IniReader {
 public:
  // False: the line is nothing known.
  bool Line(std::string_view line) {
    const std::string_view text = Stripped(line);
    if (text.empty() || text[0] == '#' || text[0] == ';') return true;
    const size_t indent = line.find_first_not_of(" \t");
    if (section_ != nullptr && !key_.empty() && indent > indent_) return Continuation(text);
    indent_ = indent;
    if (text[0] == '[' && text.find(']') != std::string_view::npos && text[1] != ']') {
      section_ = &sections_[std::string(Stripped(text.substr(1, text.rfind(']') - 1)))];
      key_.clear();
      return true;
    }
    const size_t delimiter = text.find_first_of("=:");
    if (section_ == nullptr || delimiter == std::string_view::npos || delimiter == 0) return false;
    key_ = LowerCase(Stripped(text.substr(0, delimiter)));
    (*section_)[key_] = Stripped(text.substr(delimiter + 1));
    return true;
  }

  std::map<std::string, IniSection> Take() { return std::move(sections_); }

 private:
  // Indented deeper than the key above it: more of its value, or a key within it.
  bool Continuation(std::string_view text) {
    std::string& value = (*section_)[key_];
    if (!value.empty()) {
      value += '\n';
      value += text;
      return true;
    }
    const size_t equals = text.find('=');
    if (equals == std::string_view::npos || equals == 0) return false;
    const std::string inner = key_ + "." + LowerCase(Stripped(text.substr(0, equals)));
    (*section_)[inner] = Stripped(text.substr(equals + 1));
    return true;
  }

  std::map<std::string, IniSection> sections_;
  IniSection* section_ = nullptr;
  std::string key_;
  size_t indent_ = 0;
};

}  // namespace

Result<std::map<std::string, IniSection>> ParseIni(const std::string& name, std::string_view text) {
  if (StartsWith(text, "\xef\xbb\xbf")) text.remove_prefix(3);  // a byte order mark
  IniReader reader;
  int number = 0;
  for (const std::string& line : Split(text, '\n')) {
    ++number;
    if (!reader.Line(line)) {
      return Status(Code::kInvalid,
                    name + ":" + std::to_string(number) + ": neither [section] nor key = value",
                    "Correct the line, or comment it out with #");
    }
  }
  return reader.Take();
}

Result<std::vector<std::string>> ShellWords(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  bool inside = false;  // of a word, which may be empty: ''
  char quote = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool more = i + 1 < text.size();
    if (quote != 0 && c == quote) {
      quote = 0;
    } else if (c == '\\' && quote == 0 && more) {
      word += text[++i];
      inside = true;
    } else if (c == '\\' && quote == '"' && more && (text[i + 1] == '"' || text[i + 1] == '\\')) {
      word += text[++i];
    } else if (quote == 0 && (c == '"' || c == '\'')) {
      quote = c;
      inside = true;
    } else if (quote == 0 && (c == ' ' || c == '\t' || c == '\n' || c == '\r')) {
      if (inside) words.push_back(std::move(word));
      word.clear();
      inside = false;
    } else {
      word += c;
      inside = true;
    }
  }
  if (quote != 0) return Status(Code::kInvalid, "a quote is not closed");
  if (inside) words.push_back(std::move(word));
  return words;
}

}  // namespace stoker

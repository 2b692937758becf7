// SPDX-License-Identifier: Apache-2.0
// Variables as text: lines of NAME=VALUE in files, names and patterns of names. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stoker {

// Letters, digits and '_', no digit first, at most 255.
bool IsEnvName(std::string_view name);

// '*' stands for any characters, '?' for one.
bool IsNamePattern(std::string_view text);
bool MatchesName(std::string_view pattern, std::string_view name);

struct EnvLine {
  std::string name;
  std::optional<std::string> value;  // nullopt = NAME alone
  int line = 0;                      // from 1
};

struct EnvText {
  std::vector<EnvLine> lines;         // in the order written
  std::vector<std::string> mistakes;  // "line 3: …", without any value
};

enum class EnvStyle {
  kLiteral,  // all after '=' is the value, as it stands: what a script writes with echo
  kDotenv,   // quotes around a value are taken off, " #" begins a comment: what people write
};

// Empty lines and those that begin with '#' say nothing; "export " before a name is allowed.
EnvText ParseEnvText(std::string_view text, EnvStyle style);

}  // namespace stoker

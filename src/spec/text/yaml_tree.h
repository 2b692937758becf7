// SPDX-License-Identifier: Apache-2.0
// YAML text as a tree that remembers where everything stood and how it was written.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "spec/text/spec_error.h"

namespace stoker {

struct YamlEntry;

// One node. Owns what is below it. Aliases are expanded (copied) already.
struct YamlNode {
  enum class Kind { kNull, kScalar, kList, kMap };
  Kind kind = Kind::kNull;
  bool quoted = false;          // a scalar in quotes or a block: never a number, a boolean or null
  int line = 0;                 // from 1
  int column = 0;               // from 1, in characters
  std::string text;             // of a scalar; UTF-8, never holds a NUL
  std::vector<YamlNode> items;  // of a list
  std::vector<YamlEntry>
      entries;  // of a map, in the order written; keys are scalars, all different

  bool IsNull() const { return kind == Kind::kNull; }
  bool IsScalar() const { return kind == Kind::kScalar; }
  bool IsList() const { return kind == Kind::kList; }
  bool IsMap() const { return kind == Kind::kMap; }
};

struct YamlEntry {
  YamlNode key;
  YamlNode value;
};

// "a list", "a map", "no value" or the quoted text: for messages.
std::string Describe(const YamlNode& node);

inline constexpr int64_t kMaxYamlBytes = 1 << 20;
inline constexpr int kMaxYamlDepth = 64;

// What explicit tags ("!!python/tuple") are: in our own files a mistake, in those of others
// nothing.
enum class YamlTags { kRefused, kPassedOver };

// The only document of `text`. On any mistake appends to `errors` and returns an empty node: text
// that is not UTF-8, holds NUL bytes or is over 1 MiB; syntax errors; a second document; explicit
// tags, unless they are passed over; keys that are not scalars or come twice; nesting over 64;
// aliases that expand to too much or into themselves. Pure and bounded: time and memory follow the
// size of `text`. An empty text is a null node and no error.
YamlNode ParseYamlTree(std::string_view text, const std::string& file,
                       std::vector<SpecError>* errors, YamlTags tags = YamlTags::kRefused);

}  // namespace stoker

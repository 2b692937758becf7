// SPDX-License-Identifier: Apache-2.0
// How deep JSON text is nested, without parsing it. Pure.
#pragma once

#include <string_view>

namespace stoker {

// True when lists and objects lie in more than `most` of each other. To be asked before untrusted
// text is parsed: the parser needs no stack for it, but whoever copies or prints the value does.
inline bool NestedDeeper(std::string_view json, int most) {
  int depth = 0;
  bool quoted = false;
  for (size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (quoted) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '{' || c == '[') {
      if (++depth > most) return true;
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return false;
}

}  // namespace stoker

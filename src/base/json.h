// SPDX-License-Identifier: Apache-2.0
// nlohmann's JSON without its literal ""_json, which nobody here uses and which makes each source
// that includes it compile a whole parser, for a second: the body becomes a template's that nobody
// needs. Heavy: include it in .cc files only.
#pragma once

#define _json(...)      \
  _json(__VA_ARGS__);   \
  template <class Byte> \
  nlohmann::json StokerUnusedLiteral(const Byte* s, Byte n)
#include <nlohmann/json.hpp>
#undef _json

// SPDX-License-Identifier: Apache-2.0
// Values of hyperparameters as compact JSON text. Inside spec/ only.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "spec/text/spec_reader.h"

namespace stoker {

// `text` (UTF-8) as a JSON string that is also a YAML double-quoted scalar: everything that is not
// printable is escaped.
std::string JsonString(std::string_view text);

// A plain scalar by the rules of YAML 1.2's core schema: null, true, whole numbers and fractions
// keep their value (0.10 and 1e-3 keep their digits too), all else is text. kInvalid for what JSON
// cannot say (.nan, 1e999) and for what YAML 1.1 and 1.2 read differently (010).
Result<std::string> PlainScalarToJson(std::string_view text);

// `{lr:1}` is the key "lr:1" and no value: an error where people mean names and values.
void RefuseLostColon(const YamlNode& key, const YamlNode& value, SpecReader* reader);

// The whole node, keys in the order written. Errors go to `reader`; the text is then incomplete.
// What it returns parses back, as YAML, to exactly itself.
std::string NodeToJson(const YamlNode& node, SpecReader* reader);

}  // namespace stoker

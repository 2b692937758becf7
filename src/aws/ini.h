// SPDX-License-Identifier: Apache-2.0
// The format of ~/.aws/config and ~/.aws/credentials, and of gcloud's configurations; inside aws/
// and google/ only. Pure. It is what Python's RawConfigParser reads, as botocore uses it.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace stoker {

// Keys are in lower case. Of a key whose value is an indented block of further keys, such as
// "s3 =", each becomes a key of its own: "s3.endpoint_url".
using IniSection = std::map<std::string, std::string>;

// Sections by the text between their brackets. Sections and keys that stand twice are merged, the
// later value counts: botocore refuses those, other tools do not. `name` is the file's, for
// errors. kInvalid with the number of a line that is none of section, key and comment: never its
// text.
Result<std::map<std::string, IniSection>> ParseIni(const std::string& name, std::string_view text);

// `text` as a POSIX shell would split it into words, without any expansion: quotes and
// backslashes. kInvalid: a quote that is not closed.
Result<std::vector<std::string>> ShellWords(std::string_view text);

}  // namespace stoker

// SPDX-License-Identifier: Apache-2.0
// Names of machines as ssh takes them, out of settings. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "spec/text/spec_reader.h"

namespace stoker {

// "box", "user@box", "10.0.0.7": a word for ssh, which ~/.ssh/config may explain. Never an option,
// never anything that a shell would read otherwise.
bool IsHostWord(std::string_view word);
inline constexpr char kWriteHost[] =
    "Write a host as ssh takes it, box or user@box; what else ssh needs for it (port, key, jump "
    "host) goes into ~/.ssh/config";

// To `hosts`, which has each once; else an error of the key `what`.
void AddHost(const YamlNode& node, const std::string& what, SpecReader* reader,
             std::vector<std::string>* hosts);

// [box1, user@box2], the same in one line with commas, or {hosts: [box1, user@box2]}.
std::vector<std::string> ReadHosts(const YamlNode& node, const std::string& what,
                                   SpecReader* reader);

}  // namespace stoker

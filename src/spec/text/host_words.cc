// SPDX-License-Identifier: Apache-2.0
#include "spec/text/host_words.h"

#include <algorithm>
#include <cctype>

#include "base/text.h"

namespace stoker {
namespace {

constexpr size_t kMostHosts = 1000;

}  // namespace

bool IsHostWord(std::string_view word) {
  const size_t at = word.find('@');
  const std::string_view host = at == std::string_view::npos ? word : word.substr(at + 1);
  const auto plain = [](std::string_view part) {
    return !part.empty() && part.size() <= 255 && part[0] != '-' && part[0] != '.' &&
           std::all_of(part.begin(), part.end(), [](unsigned char c) {
             return std::isalnum(c) != 0 || c == '.' || c == '_' || c == '-' || c == ':';
           });
  };
  return plain(host) && (at == std::string_view::npos || plain(word.substr(0, at)));
}

void AddHost(const YamlNode& node, const std::string& what, SpecReader* reader,
             std::vector<std::string>* hosts) {
  const auto word = reader->Line(node, what);
  if (!word) return;
  if (!IsHostWord(*word)) {
    reader->Error(node, "'" + what + "' cannot be " + Quoted(*word), kWriteHost);
  } else if (std::find(hosts->begin(), hosts->end(), *word) != hosts->end()) {
    reader->Error(node, "'" + what + "' has " + Quoted(*word) + " twice", "Remove one");
  } else {
    hosts->push_back(*word);
  }
}

std::vector<std::string> ReadHosts(const YamlNode& node, const std::string& what,
                                   SpecReader* reader) {
  std::vector<std::string> hosts;
  if (node.IsMap()) {
    reader->ReadMap(
        node, what,
        {{"hosts", [&](const YamlNode& v) { hosts = ReadHosts(v, what + ".hosts", reader); }}}, {});
  } else if (node.IsScalar()) {
    for (const std::string& part : Split(node.text, ',')) {
      YamlNode one = node;
      const size_t first = part.find_first_not_of(' ');
      const size_t last = part.find_last_not_of(' ');
      one.text = first == std::string::npos ? "" : part.substr(first, last - first + 1);
      AddHost(one, what, reader, &hosts);
    }
  } else if (reader->ExpectList(node, what, "[box1, user@box2]") &&
             reader->ExpectAtMost(node, what, node.items.size(), kMostHosts)) {
    for (const YamlNode& item : node.items) AddHost(item, what, reader, &hosts);
  }
  return hosts;
}

}  // namespace stoker

// SPDX-License-Identifier: Apache-2.0
#include "provider/cloud/boot_words.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace stoker::cloud {
namespace {

constexpr std::string_view kMark = "boot failed, ";
constexpr size_t kMostSaid = 400;

// The newest line of that kind: its kind, and what it says.
std::optional<std::pair<std::string, std::string>> Line(const std::string& said) {
  const size_t at = said.rfind(kMark);
  if (at == std::string::npos) return std::nullopt;
  const size_t begin = at + kMark.size();
  const std::string line = said.substr(begin, said.find_first_of("\r\n", begin) - begin);
  const size_t colon = line.find(": ");
  if (colon == std::string::npos) return std::nullopt;
  return std::pair(line.substr(0, colon), Printable(CutText(line.substr(colon + 2), kMostSaid)));
}

BootFailure With(std::string said, const std::string& next, bool lasts) {
  if (!next.empty()) said += (EndsWith(said, ".") ? " " : ". ") + next;
  return {std::move(said), lasts};
}

}  // namespace

std::optional<BootFailure> BootFailureIn(const std::string& said, const BootAdvice& advice) {
  const auto line = Line(said);
  if (!line) return std::nullopt;
  const auto& [kind, words] = *line;
  if (kind == "denied") return With(words, advice.denied, true);
  if (kind == "no-route" && !advice.has_route) return With(words, advice.no_route, true);
  if (kind == "no-route") {
    return With(words, "From there nothing out there answered. " + advice.no_route, false);
  }
  if (kind == "dns") {
    return With(words, "Names are not known there: see the DNS settings of its network", false);
  }
  BootFailure failure = With(words, "", false);
  failure.outage = kind == "outage";
  return failure;
}

bool SaysNoRoute(const std::string& said) {
  const auto line = Line(said);
  return line && line->first == "no-route";
}

}  // namespace stoker::cloud

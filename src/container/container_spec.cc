// SPDX-License-Identifier: Apache-2.0
#include "container/container_spec.h"

#include <algorithm>

#include "base/text.h"

namespace stoker {
namespace {

constexpr size_t kMost = 512;
constexpr std::string_view kDigest = "sha256:";

bool IsOf(std::string_view text, std::string_view marks) {
  return std::all_of(text.begin(), text.end(),
                     [&](char c) { return IsAlnum(c) || marks.find(c) != std::string_view::npos; });
}

// Absolute, of printable characters, and nothing that an engine would cut it at.
bool IsPlainPath(std::string_view path) {
  if (path.empty() || path[0] != '/') return false;
  for (const char c : path) {
    if (c == ':' || c == ',' || static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return false;
  }
  const std::string inside = std::string(path) + "/";
  return inside.find("/../") == std::string::npos;
}

}  // namespace

bool IsImageName(std::string_view text) {
  if (text.empty() || text.size() > kMost || !IsAlnum(text.front())) return false;
  const size_t at = text.find('@');
  if (at != std::string_view::npos) {
    const std::string_view digest = text.substr(at + 1);
    if (!StartsWith(digest, kDigest) || digest.size() != kDigest.size() + 64) return false;
    if (!IsOf(digest.substr(kDigest.size()), "")) return false;
  }
  const std::string_view name = text.substr(0, at);
  if (!IsOf(name, "./_-:") || !IsAlnum(name.back())) return false;
  return name.find("//") == std::string_view::npos && name.find("..") == std::string_view::npos &&
         name.find("/:") == std::string_view::npos && name.find("::") == std::string_view::npos;
}

bool IsCapability(std::string_view text) {
  return !text.empty() && text.size() <= 64 && text[0] >= 'A' && text[0] <= 'Z' && IsOf(text, "_");
}

bool IsDevice(std::string_view text) {
  if (text.empty() || text.size() > kMost) return false;
  if (text[0] != '/') {
    const size_t sign = text.find('=');
    return IsAlnum(text[0]) && sign != std::string_view::npos && sign + 1 < text.size() &&
           IsOf(text, "./_-=:");
  }
  const std::vector<std::string> parts = Split(std::string(text), ':');
  if (parts.size() > 3 || !IsPlainPath(parts[0])) return false;
  if (parts.size() == 3 && (parts[2].empty() || !IsOf(parts[2], ""))) return false;
  return parts.size() < 2 || IsPlainPath(parts[1]);
}

bool IsVolume(std::string_view text) {
  if (text.size() > 2 * kMost) return false;
  const std::vector<std::string> parts = Split(std::string(text), ':');
  if (parts.size() < 2 || parts.size() > 3) return false;
  if (!IsPlainPath(parts[0]) || !IsPlainPath(parts[1]) || parts[1] == "/") return false;
  return parts.size() == 2 || (!parts[2].empty() && IsOf(parts[2], ","));
}

}  // namespace stoker

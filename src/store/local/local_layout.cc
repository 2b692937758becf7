// SPDX-License-Identifier: Apache-2.0
#include "store/local/local_layout.h"

#include <algorithm>
#include <charconv>

#include "base/prng.h"
#include "base/text.h"

namespace stoker::local {
namespace {

constexpr size_t kNumberWidth = 12;
constexpr size_t kHexWidth = 16;
constexpr size_t kMaxKey = 900;
constexpr size_t kMaxName = 255;  // of a file

bool IsHex64(std::string_view text) {
  return text.size() == kHexWidth && text.find_first_not_of("0123456789abcdef") == text.npos;
}

}  // namespace

std::string Revision::Name() const {
  return Padded(number, kNumberWidth) + "-" + nonce + "-" + base;
}

std::string Revision::Pointer() const {
  return number == 0 ? std::string(kUnborn) : std::string(kPointer) + Name();
}

std::optional<Revision> ParseRevision(std::string_view name) {
  // The number may outgrow its width; it never shrinks below it.
  if (name.size() < kNumberWidth + 2 + 2 * kHexWidth) return std::nullopt;
  const size_t digits = name.size() - 2 - 2 * kHexWidth;
  Revision revision;
  const auto [end, error] = std::from_chars(name.data(), name.data() + digits, revision.number);
  if (error != std::errc() || end != name.data() + digits || revision.number < 1) {
    return std::nullopt;
  }
  const std::string_view nonce = name.substr(digits + 1, kHexWidth);
  const std::string_view base = name.substr(digits + 2 + kHexWidth);
  if (name[digits] != '-' || name[digits + 1 + kHexWidth] != '-') return std::nullopt;
  if (!IsHex64(nonce) || !IsHex64(base)) return std::nullopt;
  revision.nonce = nonce;
  revision.base = base;
  return revision;
}

std::optional<Revision> ParsePointer(std::string_view name) {
  if (name == kUnborn) return Revision{};
  if (!StartsWith(name, kPointer)) return std::nullopt;
  return ParseRevision(name.substr(kPointer.size()));
}

std::string BaseOf(const struct stat& file) {
  uint64_t mixed = static_cast<uint64_t>(file.st_ino);
  for (const int64_t part :
       {static_cast<int64_t>(file.st_mtim.tv_sec), static_cast<int64_t>(file.st_mtim.tv_nsec),
        static_cast<int64_t>(file.st_size)}) {
    mixed = Prng(mixed ^ static_cast<uint64_t>(part)).Next();
  }
  return Hex64(mixed);
}

Version PlainVersion(const struct stat& file) { return "0-" + BaseOf(file); }

std::optional<std::string> ParsePlainVersion(std::string_view version) {
  if (!StartsWith(version, "0-") || !IsHex64(version.substr(2))) return std::nullopt;
  return std::string(version.substr(2));
}

bool Versionless(std::string_view key) { return StartsWith(key, kVersionless); }

Status ValidateKey(const std::string& key) {
  const auto bad = [&](const std::string& why) {
    return Status(Code::kInvalid, "'" + Printable(key.substr(0, 200)) + "' is not a key: " + why);
  };
  if (key.size() > kMaxKey) return bad("longer than " + std::to_string(kMaxKey) + " bytes");
  if (!IsSafeRelativePath(key)) return bad("not a relative path without '.', '..' and '//'");
  const bool plain = Versionless(key);
  const size_t longest = plain ? kMaxName : kMaxName - kRev.size();
  for (size_t at = 0; at <= key.size();) {
    const size_t end = std::min(key.find('/', at), key.size());
    const std::string_view component = std::string_view(key).substr(at, end - at);
    if (component.size() > longest) return bad("a part is too long for a file name");
    if (!plain && (StartsWith(component, kTmp) || EndsWith(component, kRev))) {
      return bad("names that end in .rev or begin with .tmp are taken");
    }
    at = end + 1;
  }
  return Status::Ok();
}

std::string ParentOf(const std::string& key) {
  const size_t slash = key.rfind('/');
  return slash == std::string::npos ? "" : key.substr(0, slash);
}

WallTime ModifiedAt(const struct stat& file) {
  return WallTime{static_cast<int64_t>(file.st_mtim.tv_sec) * 1000 +
                  file.st_mtim.tv_nsec / 1'000'000};
}

}  // namespace stoker::local

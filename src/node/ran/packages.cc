// SPDX-License-Identifier: Apache-2.0
#include "node/ran/packages.h"

#include <map>
#include <optional>

#include "base/json.h"
#include "base/text.h"
#include "sys/file.h"

namespace stoker::node {
namespace {

constexpr int64_t kMostMetadata = 1 << 20;
constexpr size_t kCommitShown = 12;

// "Version: 1.2", of an egg whose name does not tell.
std::string VersionInside(const std::string& path) {
  const auto text = sys::ReadFile(path, kMostMetadata);
  for (const std::string& line : Split(text.value_or(""), '\n')) {
    if (StartsWith(line, "Version: ")) return line.substr(9);
    if (line.empty()) break;
  }
  return "";
}

// direct_url.json, which pip and uv write (packaging.python.org/specifications/direct-url).
std::string OriginOf(const std::string& folder) {
  const auto text = sys::ReadFile(folder + "/direct_url.json", kMostMetadata);
  if (!text.ok()) return "";
  const auto url = nlohmann::json::parse(*text, nullptr, false);
  if (!url.is_object()) return "";
  const auto text_at = [&](const char* part, const char* name) -> std::string {
    if (!url.contains(part) || !url[part].is_object() || !url[part].contains(name)) return "";
    const auto& found = url[part][name];
    return found.is_string() ? found.get<std::string>() : found == true ? "true" : "";
  };
  if (text_at("dir_info", "editable") == "true") return "editable";
  const std::string commit = text_at("vcs_info", "commit_id");
  return commit.empty() ? "" : text_at("vcs_info", "vcs") + " " + commit.substr(0, kCommitShown);
}

// What one entry of a folder on sys.path says; nullopt: it is no metadata.
std::optional<Package> PackageOf(const std::string& folder, const sys::DirEntry& entry) {
  const bool wheel = EndsWith(entry.name, ".dist-info") && entry.is_dir;
  const bool egg = EndsWith(entry.name, ".egg-info");
  // A '~' is pip's: what it has not removed yet.
  if ((!wheel && !egg) || entry.name[0] == '~') return std::nullopt;
  const std::string path = folder + "/" + entry.name;
  std::string stem = entry.name.substr(0, entry.name.rfind('.'));
  if (const size_t python = stem.rfind("-py"); egg && python != std::string::npos) {
    stem.resize(python);
  }
  const size_t dash = stem.rfind('-');
  Package package;
  package.name = NormalizedName(stem.substr(0, dash));
  if (dash != std::string::npos) {
    package.version = stem.substr(dash + 1);
  } else {
    package.version = VersionInside(entry.is_dir ? path + "/PKG-INFO" : path);
  }
  if (wheel) package.from = OriginOf(path);
  return package;
}

}  // namespace

std::string NormalizedName(std::string_view name) {
  std::string out;
  for (const char c : name) {
    const bool separator = c == '-' || c == '_' || c == '.';
    if (separator && !out.empty() && out.back() == '-') continue;
    out += separator ? '-' : c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return out;
}

std::vector<Package> ReadPackages(const std::vector<std::string>& folders) {
  std::map<std::string, Package> found;
  for (const std::string& folder : folders) {
    const auto entries = sys::ListDir(folder);  // an archive, or one that is not there
    if (!entries.ok()) continue;
    std::map<std::string, Package> here;
    for (const sys::DirEntry& entry : *entries) {
      if (auto package = PackageOf(folder, entry)) here[package->name] = std::move(*package);
    }
    found.merge(here);
  }
  std::vector<Package> packages;
  for (auto& [name, package] : found) {
    if (packages.size() == kMostPackages) break;
    packages.push_back(std::move(package));
  }
  return packages;
}

}  // namespace stoker::node

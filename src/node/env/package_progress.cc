// SPDX-License-Identifier: Apache-2.0
#include "node/env/package_progress.h"

#include <cmath>
#include <cstdlib>
#include <vector>

#include "base/text.h"

namespace stoker::node {
namespace {

constexpr std::chrono::seconds kQuiet(10);
constexpr size_t kLongestLine = 4096;

// "(16.1MiB)" of uv, "(16.1 MB)" of pip.
int64_t BytesOf(const std::string& size) {
  char* end = nullptr;
  double bytes = std::strtod(size.c_str(), &end);
  while (*end == ' ') ++end;
  const double thousand = std::string_view(end).find("iB") != std::string_view::npos ? 1024 : 1000;
  const size_t power = std::string_view("BkMGT").find(*end == 'K' ? 'k' : *end);
  if (power == std::string_view::npos) return 0;
  for (size_t i = 0; i < power; ++i) bytes *= thousand;
  return std::llround(bytes);
}

// The words of `line` behind `sign`; "" when it does not begin so.
std::string After(const std::string& line, std::string_view sign) {
  return StartsWith(line, sign) ? line.substr(sign.size()) : "";
}

}  // namespace

void PackageProgress::Add(std::string_view output) {
  rest_.append(output);
  size_t begin = 0;
  for (size_t end = rest_.find('\n'); end != std::string::npos; end = rest_.find('\n', begin)) {
    std::string line = rest_.substr(begin, end - begin);
    line.erase(0, std::min(line.size(), line.find_first_not_of(" \t")));
    Read(line);
    begin = end + 1;
  }
  rest_.erase(0, begin);
  if (rest_.size() > kLongestLine) rest_.clear();
}

void PackageProgress::Read(const std::string& line) {
  if (const std::string all = After(line, "Resolved "); !all.empty()) {
    needed_ = all.substr(0, all.find(' '));
    uv_ = true;
  }
  for (const char* sign : {"Downloaded ", "Built ", "Successfully built "}) {
    if (const std::string name = After(line, sign); !name.empty()) return Arrived(name);
  }
  // What pip says next says that its last download is over.
  if (!uv_ && !way_.empty()) Arrived(way_.begin()->first);
  const std::string building = After(line, "Building ");
  if (!building.empty()) way_[building.substr(0, building.find(" @"))] = "";
  const std::string what = After(line, "Downloading ");
  const size_t size = what.rfind(" (");
  if (what.empty() || size == std::string::npos || what.back() != ')') return;
  std::string name = what.substr(0, size);
  name.erase(0, name.rfind('/') + 1);
  way_[name] = sizes_[name] = what.substr(size + 2, what.size() - size - 3);
}

void PackageProgress::Arrived(const std::string& name) {
  const std::string key = name.substr(0, name.find(" @"));
  way_.erase(key);
  ++packages_;
  const auto size = sizes_.find(key);
  if (size != sizes_.end()) bytes_ += BytesOf(size->second);
}

std::string PackageProgress::Line() const {
  std::string line;
  if (packages_ > 0) {
    line = std::to_string(packages_) + (uv_ ? " large" : "") +
           (packages_ == 1 ? " package is loaded" : " packages are loaded") +
           (bytes_ > 0 ? " (" + HumanSize(bytes_) + ")" : "");
  }
  if (!way_.empty()) {
    const auto& [name, size] = *way_.begin();
    if (!line.empty()) line += ", ";
    line += name + (size.empty() ? " is built" : " (" + size + ") is on its way");
    if (way_.size() > 1) line += ", and " + std::to_string(way_.size() - 1) + " more";
  }
  if (line.empty()) {
    return needed_.empty() ? "which packages are needed is still being found out"
                           : "packages are loaded";
  }
  return needed_.empty() ? line : "of " + needed_ + " packages, " + line;
}

void ProgressSink::Write(LogStream stream, std::string_view bytes) {
  to_.Write(stream, bytes);
  const std::lock_guard<std::mutex> lock(mutex_);
  progress_.Add(bytes);
  last_ = std::chrono::steady_clock::now();
}

void ProgressSink::Tick() {
  std::string line;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto now = std::chrono::steady_clock::now();
    if (now - last_ < kQuiet) return;
    last_ = now;
    line = "stoker: " + progress_.Line() + "\n";
  }
  to_.Write(LogStream::kSystem, line);
}

}  // namespace stoker::node

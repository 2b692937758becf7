// SPDX-License-Identifier: Apache-2.0
#include "sys/folder_cache.h"

#include <unistd.h>

#include <utility>

#include "base/text.h"
#include "sys/file.h"

namespace stoker::sys {
namespace {

constexpr char kEnding[] = ".kept";

class FolderCache : public Cache {
 public:
  explicit FolderCache(std::string folder) : folder_(std::move(folder)) {}

  std::optional<std::string> Get(const std::string& name) override {
    auto text = ReadFile(PathOf(name));
    if (!text.ok()) return std::nullopt;
    return std::move(*text);
  }

  void Keep(const std::string& name, std::string_view data) override {
    if (!MakeDirs(folder_, 0700).ok()) return;
    (void)WriteFileAtomic(PathOf(name), data, 0600, /*durable=*/false);
  }

  void KeepOnly(const std::set<std::string>& names) override {
    const auto entries = ListDir(folder_);
    if (!entries.ok()) return;
    for (const DirEntry& entry : *entries) {
      if (!EndsWith(entry.name, kEnding)) continue;
      const std::string name = entry.name.substr(0, entry.name.size() - sizeof(kEnding) + 1);
      if (!names.contains(name)) ::unlink((folder_ + "/" + entry.name).c_str());
    }
  }

 private:
  std::string PathOf(const std::string& name) const { return folder_ + "/" + name + kEnding; }

  const std::string folder_;
};

}  // namespace

std::unique_ptr<Cache> MakeFolderCache(std::string folder) {
  return std::make_unique<FolderCache>(std::move(folder));
}

}  // namespace stoker::sys

// SPDX-License-Identifier: Apache-2.0
// Folders of a work directory that hold what was downloaded, and no results: git ignores them, and
// they are called so (pack::kDownloads).
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace stoker::node {

class Downloads {
 public:
  // Less is kept as everything else is.
  static constexpr int64_t kMost = 10'000'000;  // bytes

  // `ignored`: lines of an ignore file, besides those that lie in the work directory.
  Downloads(std::string workdir, std::string ignored)
      : workdir_(std::move(workdir)), ignored_(std::move(ignored)) {}

  // A walk begins: it asks Enter of each folder, those around it first.
  void Begin() { found_.clear(); }
  void Enter(const std::string& folder);
  // `path` lies in one that holds too much, as far as is known. `cache`: in one that is never kept.
  bool Has(const std::string& path, bool* cache) const;
  // A file in one of them.
  void Add(const std::string& path, int64_t bytes);
  // After a walk: some hold little, and their files are to be looked at as others. True: there are.
  bool DropSmall();
  // After DropSmall said no: a sentence that names them, with how to keep them; "" = there is none.
  // Without sizes where it is to be the same on all nodes.
  std::string Sentence(bool sizes) const;

 private:
  struct Amount {
    int64_t files = 0;
    int64_t bytes = 0;
  };
  std::string Around(const std::string& path) const;
  bool GitIgnores(const std::string& folder) const;

  const std::string workdir_;
  const std::string ignored_;
  std::map<std::string, Amount> found_;
  std::set<std::string> small_;
};

}  // namespace stoker::node

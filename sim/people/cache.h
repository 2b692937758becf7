// SPDX-License-Identifier: Apache-2.0
// The cache of one user's machine: it outlives their processes, and may be damaged or deleted.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "port/cache.h"

namespace stoker::sim {

class SimCache : public Cache {
 public:
  std::optional<std::string> Get(const std::string& name) override {
    const auto copy = copies_.find(name);
    return copy == copies_.end() ? std::nullopt : std::optional<std::string>(copy->second);
  }
  void Keep(const std::string& name, std::string_view data) override {
    copies_[name] = std::string(data);
  }
  void KeepOnly(const std::set<std::string>& names) override {
    std::erase_if(copies_, [&](const auto& copy) { return names.count(copy.first) == 0; });
  }
  // Cuts every copy in two: the first half stays.
  void Damage() {
    for (auto& [name, copy] : copies_) copy.resize(copy.size() / 2);
  }

 private:
  std::map<std::string, std::string> copies_;
};

}  // namespace stoker::sim

// SPDX-License-Identifier: Apache-2.0
// Outputs that an earlier attempt has kept and a later one is about to write over. They are copied
// to jobs/<job>/replaced/<attempt>/, under the names that they have below artifacts/, and stay
// there as long as the job, but of each file the last few only.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/status.h"
#include "checkpoint/manifest.h"
#include "port/object_store.h"

namespace stoker {

// Of one node in one attempt; one thread at a time.
class ReplacedOutputs {
 public:
  static constexpr size_t kKept = 3;  // of each file, besides the newest

  ReplacedOutputs(ObjectStore& store, std::string job, int attempt, int rank)
      : store_(store), job_(std::move(job)), attempt_(attempt), rank_(rank) {}

  // Before `object` (below artifacts/) becomes a file with this content. Ok also where nothing is
  // there to be kept. `may` is asked whether there is time to copy so many bytes; kTimeout: it said
  // no, and what was there will be lost.
  Status Keep(const std::string& object, const std::string& sha256,
              const std::function<bool(int64_t bytes)>& may);

 private:
  struct Earlier {
    int attempt = 0;
    std::string sha256;
    int64_t size = 0;
  };
  Status Load();
  Status Copy(const std::string& object, const Earlier& earlier,
              const std::function<bool(int64_t bytes)>& may);

  ObjectStore& store_;
  const std::string job_;
  const int attempt_;
  const int rank_;
  bool loaded_ = false;
  std::map<std::string, std::vector<Earlier>> earlier_;  // by object, by attempt
  std::set<std::string> done_;
};

// Where the outputs that one attempt has kept are to be found now.
class OldOutputs {
 public:
  // What lies under `replaced/`; then the lists of all attempts, in their order.
  Status Look(ObjectStore& store, const std::string& job);
  void Add(int attempt, const ManifestFile& file);
  // The key of what `attempt` has listed as `file`; "" = it was replaced, and is not kept any more.
  std::string KeyOf(int attempt, const ManifestFile& file) const;

 private:
  std::string job_;
  std::set<std::string> there_;
  std::map<std::string, std::map<int, std::string>> content_;  // by object and attempt: SHA-256
};

}  // namespace stoker

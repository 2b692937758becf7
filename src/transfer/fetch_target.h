// SPDX-License-Identifier: Apache-2.0
// A directory as the end of a transfer, with every file's hash checked. Inside transfer/ only.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "port/checkpoint_files.h"
#include "port/transfer_side.h"
#include "transfer/fetch.h"

namespace stoker {

// What errors call it.
inline const std::string& NameOf(const WantedFile& file) {
  return file.called.empty() ? file.as : file.called;
}

// kCorrupt, naming the file. `what` of it differs from what was written.
Status MissingFile(const WantedFile& file);
Status DamagedFile(const WantedFile& file, const std::string& what);

// Of what the directory said. What came and is not there any more was taken away by somebody:
// kUnavailable, as that says nothing of the checkpoint.
Status OfDirectory(const Status& status);

class FetchTarget : public TransferTarget {
 public:
  // `files`: what each must be, by its key here, which is its path in the directory. Both outlive
  // it.
  FetchTarget(DirectoryWriter& into, const std::map<std::string, WantedFile>& files)
      : into_(into), files_(files) {}
  int64_t whole_bytes() const override;
  Result<ObjectInfo> PutFrom(const std::string& key, ObjectReader& from) override;
  int64_t memory(const ObjectReader& from) const override;
  Result<std::unique_ptr<PartsUpload>> BeginParts(const std::string& key, const ObjectInfo& from,
                                                  const std::string& resume) override;
  // Whether it is there, whole. Not while files move.
  bool Has(const std::string& key) const { return done_.contains(key); }

 private:
  Result<std::unique_ptr<NewFile>> Create(const std::string& key);

  DirectoryWriter& into_;
  const std::map<std::string, WantedFile>& files_;
  std::mutex mutex_;  // of `into_`: one at a time makes names; and of `done_`
  std::set<std::string> done_;
};

}  // namespace stoker

// SPDX-License-Identifier: Apache-2.0
// A folder of plain files as one end of a transfer.
//
// What is being written is called "NAME.stoker-part" beside its place, is locked by whoever writes
// it, and is renamed when it is whole. Folders, owners and rights are not transferred; files get
// the time of their source. Large ones are on the disk before they have their names; small ones are
// not waited for one by one, but by Settle. A link to a file inside the folder counts as that file;
// other links are not followed. Nothing is read or written through a link among the folders of a
// key.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "port/transfer_side.h"
#include "sys/file.h"

namespace stoker {

class FolderSide : public TransferSide {
 public:
  // `path` is absolute. It is made by the first write where it is not there; `must_exist`:
  // kNotFound instead. A file: the folder that has nothing else.
  static Result<std::unique_ptr<FolderSide>> Open(const std::string& path, bool must_exist);

  std::string url() const override { return only_.empty() ? root_ : root_ + "/" + only_; }
  Status List(const std::function<void(ObjectInfo)>& each,
              const std::function<void(std::string key, Status why)>& odd, WallTime* now) override;
  bool keeps_times() const override { return true; }
  int64_t whole_bytes() const override;
  Result<std::unique_ptr<ObjectReader>> OpenReader(const ObjectInfo& info) override;
  Result<ObjectInfo> PutFrom(const std::string& key, ObjectReader& from) override;
  int64_t memory(const ObjectReader& from) const override;
  Result<std::unique_ptr<PartsUpload>> BeginParts(const std::string& key, const ObjectInfo& from,
                                                  const std::string& resume) override;
  std::vector<OddKey> DeleteAll(const std::vector<std::string>& keys) override;
  // Of the file system that the folder is in: waits for all that anybody has written there.
  Status Settle() override;

 private:
  FolderSide(std::string root, std::string only) : root_(std::move(root)), only_(std::move(only)) {}
  Result<int> Root(bool create);
  // The open folder that `key` lies in.
  Result<sys::ScopedFd> Parent(const std::string& key, bool create);
  Status Delete(const std::string& key);

  const std::string root_;
  const std::string only_;  // "" = all that is in the folder
  std::mutex mutex_;
  sys::ScopedFd fd_;  // of the root, once it is there
};

}  // namespace stoker

// SPDX-License-Identifier: Apache-2.0
// A folder of plain files as one end of a transfer.
//
// What is being written lies beside its place under a name of store/local/folder_part.h, is locked
// by whoever writes it, and is renamed when it is whole. Folders, owners and rights are not
// transferred; files get the time of their source, and may be run if that may. Large ones are on
// the disk before they have their names; small ones are not waited for one by one, but by Settle. A
// link to a file inside the folder counts as that file, and so does one from a snapshot of Hugging
// Face's cache to the blobs beside it; other links are not followed. Nothing is read or written
// through a link among the folders of a key. Nothing is deleted but from the folders that List has
// seen: what was put in the place of one of them since then, by a link, a rename or a mount, is
// left alone.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_set>
#include <vector>

#include "port/transfer_side.h"
#include "store/local/folder_apart.h"
#include "store/local/folder_aside.h"
#include "store/local/folder_files.h"
#include "sys/file.h"

namespace stoker {

class FolderSide : public TransferSide {
 public:
  // `path` is absolute. It is made by the first write where it is not there; `must_exist`:
  // kNotFound instead. A file: the folder that has nothing else.
  static Result<std::unique_ptr<FolderSide>> Open(const std::string& path, bool must_exist);

  // The file that is all there is; "" = all that is in the folder.
  const std::string& only() const { return only_; }
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
  Result<bool> SetExecutable(const std::string& key, bool executable) override;
  void LetReplace(std::function<bool(const std::string& key)> may) override;
  std::vector<OddKey> EndReplacing(const std::function<bool(const std::string& key)>& copied,
                                   std::vector<std::string>* removed) override;

  // List gives what a killed run has set aside its name back, where nothing else has it by now.
  void Recover() { recover_ = true; }

  // This one is to be the target of `source`. kUsage: they are one folder, or one lies in the
  // other, as far as can be told before they are listed. Where one of them is not there, Ok.
  Status CheckApart(const FolderSide& source) const;
  // After both were listed: kUsage, naming both, where a folder of the one is also one of the
  // other. From here on nothing is written into a folder of `source`, nor deleted from it, also
  // when it comes to stand here later.
  Status KeepApart(const FolderSide& source);

  // This folder is there, and the folder `path` is it or lies in it.
  bool Holds(const std::string& path) const;

  // Of the file system that the folder is in: waits for all that anybody has written there.
  Status Settle() override;

 private:
  FolderSide(std::string root, std::string only) : root_(std::move(root)), only_(std::move(only)) {}
  Result<int> Root(bool create);
  enum class For { kRead, kWrite, kDelete };
  // The open folder that `key` lies in.
  Result<sys::ScopedFd> Parent(const std::string& key, For what);
  // That the folder at `prefix` may be entered.
  Status MayEnter(int fd, const std::string& prefix, For what) const;
  Result<folder::Place> PlaceOf(const std::string& key);
  Status Delete(const std::string& key);

  const std::string root_;
  const std::string only_;  // "" = all that is in the folder
  std::mutex mutex_;
  sys::ScopedFd fd_;  // of the root, once it is there
  // By the key that their files begin with, without its slash: those that List has entered.
  std::map<std::string, folder::Identity> folders_;
  std::vector<folder::Identity> theirs_;  // sorted: those of the source
  // Hashes of the versions that were written here: a name in another case is the same file on some
  // file systems, and must not be deleted as an old one.
  std::unordered_set<uint64_t> written_;
  bool recover_ = false;
  std::vector<std::string> set_aside_;  // by a killed run: keys that something else has by now
  std::unique_ptr<folder::Asides> asides_;
};

}  // namespace stoker

// SPDX-License-Identifier: Apache-2.0
// The store port over a folder, safe for any number of processes at once and for kill -9 at any
// instruction, without locks. local_layout.h has the names; docs/decisions has the reasons.
//
// Mixing unconditional writes (Put without a condition) with compare-and-swap on one key is safe,
// but a reader may see the loser of such a race for an instant.
#pragma once

#include <memory>
#include <string>

#include "port/pause.h"
#include "store/local/local_folder.h"

namespace stoker {

// Thread-safe. The clock is this machine's. Files are one's own, or those
// of whoever may write in the root.
class LocalStore : public ObjectStore, public Pausable {
 public:
  struct Options {
    // fsync of data and directories before a write is confirmed. Without it a power cut (not the
    // death of a process) may lose or tear what was written last.
    bool durable = true;
    int64_t part_bytes = 16 << 20;  // of uploads in parts
    bool make = true;               // a folder that is not there; else kNotFound
  };

  // Makes the folder (mode 0700) when it is not there. `root` must be absolute.
  static Result<std::unique_ptr<LocalStore>> Open(const std::string& root, Options options);
  static Result<std::unique_ptr<LocalStore>> Open(const std::string& root) {
    return Open(root, Options());
  }

  const StoreTraits& traits() const override { return traits_; }
  std::string url() const override { return folder_.root(); }
  Result<Object> Get(const std::string& key) override;
  Result<Version> Put(const std::string& key, std::string_view data,
                      const Condition& condition = {}) override;
  Result<ObjectInfo> Head(const std::string& key) override;
  Status Delete(const std::string& key) override;
  Result<Listing> List(const std::string& prefix, const std::string& after = "",
                       int limit = 1000) override;
  Result<std::vector<std::string>> ListKeys(const std::string& prefix) override;
  Result<std::unique_ptr<Upload>> BeginUpload(const std::string& key,
                                              const Condition& condition = {}) override;
  Result<std::unique_ptr<Download>> OpenDownload(const std::string& key) override;
  // PutFrom is the port's: a file is cloned or copied by the kernel in BeginUpload's WriteFile.
  Result<ObjectInfo> PutUnsettled(const std::string& key, ObjectReader& from) override;
  Status Settle() override;
  Result<std::unique_ptr<ObjectReader>> OpenReader(const ObjectInfo& info) override;
  // A disk damages nothing on the way that is whole a moment later.
  void Pause(Duration time) override;
  // Into a file in .tmp, which is swept when nobody has written it for an hour.
  Result<std::unique_ptr<PartsUpload>> BeginParts(const std::string& key, int64_t size,
                                                  const Condition& condition = {},
                                                  const std::string& resume = "",
                                                  bool executable = false) override;

 private:
  class LocalUpload;
  class LocalDownload;
  struct Found {
    ObjectInfo info;
    sys::ScopedFd fd;
  };

  LocalStore(local::Folder folder, int64_t part_bytes);

  // The current data of `key`, open for reading; with `open` false only looked at.
  Result<Found> Find(const std::string& key, bool open);
  // nullopt: go on with the plain form. kNotFound: look again.
  Result<std::optional<Found>> FindRevision(const std::string& key, int rev_dir, bool open);
  Result<std::optional<Found>> FindPlain(const std::string& key, bool open);
  // Invalid: there is none.
  Result<sys::ScopedFd> OpenRevDir(const std::string& key) const;
  Result<bool> HasRevision(const std::string& key);
  Status Missing(const std::string& key) const;
  // kConflict, or kNotFound when there is no such object (any more).
  Status Lost(const std::string& key);

  // Publishing a sealed file (local_commit.cc).
  Result<Version> Commit(local::Staged staged, const std::string& key, const Condition& condition);
  Result<Version> CommitAny(local::Staged staged, const std::string& key);
  Result<Version> CommitAbsent(local::Staged staged, const std::string& key);
  Result<Version> CommitFirstRevision(local::Staged& staged, const std::string& key,
                                      const std::string& base);
  Result<Version> CommitRevision(local::Staged& staged, const std::string& key, int rev_dir,
                                 const local::Revision& current, const std::string& base);
  Result<sys::ScopedFd> MakeRevDir(const std::string& key);
  std::string PlainBase(const std::string& key) const;
  Status ClearTheWay(const local::Staged& staged, const std::string& key, int error) const;
  Status CheckMatch(const std::string& key, const Version& version);
  Result<bool> GrewFrom(const std::string& key, const std::string& base, bool* exists) const;
  void RemoveOlder(const std::string& key, int rev_dir, const local::Revision& newest) const;
  Status RemoveDir(const std::string& relative) const;

  StoreTraits traits_;
  local::Folder folder_;
  const int64_t part_bytes_;
  // The same folder, where nothing is waited for; null where each write is for itself.
  std::unique_ptr<LocalStore> unsettled_;
};

}  // namespace stoker

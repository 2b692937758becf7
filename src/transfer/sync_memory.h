// SPDX-License-Identifier: Apache-2.0
// What is remembered from one transfer between two sides to the next: which versions were equal,
// and which uploads in parts were begun. Losing it costs time, never data.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "port/transfer_side.h"
#include "transfer/sync_plan.h"
#include "transfer/transfer_memory.h"

namespace stoker {

// Thread-safe after Load, but for BeginWriting and EndWriting. Lines of the journal: "=", key,
// source, target; "+", key, source, id; "!", boot: files are being written; ".": they are on the
// disk; "@", the url of the target. Words are separated by tabs; a later line of a key counts.
class SyncMemory : public TransferMemory {
 public:
  // `journal` outlives it. `boot` changes when the machine is started anew; "" = nobody knows.
  SyncMemory(Journal& journal, std::string boot) : journal_(journal), boot_(std::move(boot)) {}
  // Lines that make no sense are passed over: they may be torn.
  Status Load();
  const std::map<std::string, KnownPair>& known() const { return known_; }
  // Of uploads in parts that were begun and not ended: the bucket they are in, and their keys. "" =
  // not noted, or no bucket.
  const std::string& bucket() const { return bucket_; }
  const std::map<std::string, OpenUpload>& begun() const { return begun_; }
  // So that what a killed run has begun can be found when it is never repeated.
  Status NoteBucket(const std::string& url);
  // They were swept.
  Status ForgetBegun();
  std::string Begun(const std::string& key, const Version& source) const override;
  Status NoteSame(const std::string& key, const Version& source, const Version& target) override;
  Status NoteBegun(const std::string& key, const Version& source, const std::string& id) override;
  bool lasts() const override { return true; }

  // The machine went down before what was written had settled: what is not known() may be torn,
  // although its size and its time are right. Lasts until all of it was written anew.
  bool in_doubt() const { return in_doubt_; }
  // Before and after files are written into `target`. BeginWriting waits for the disk that has the
  // journal, EndWriting for the target's. `all`: nothing that in_doubt() speaks of is left.
  Status BeginWriting(const TransferSide& target);
  Status EndWriting(TransferSide& target, bool all);

  // Writes the journal anew when it holds much that nobody needs: what is not in `source`. Nothing
  // between BeginWriting and EndWriting.
  Status Compact(const std::vector<ObjectInfo>& source);

 private:
  void Doubt();

  Journal& journal_;
  const std::string boot_;
  std::string bucket_;
  bool in_doubt_ = false;
  bool writing_ = false;             // "!" without "."
  std::set<std::string> unsettled_;  // known since then
  std::map<std::string, KnownPair> known_;
  std::map<std::string, OpenUpload> begun_;
  size_t lines_ = 0;
};

}  // namespace stoker

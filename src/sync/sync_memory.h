// SPDX-License-Identifier: Apache-2.0
// What is remembered from one transfer between two sides to the next: which versions were equal,
// and which uploads in parts were begun. Losing it costs time, never data.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "port/transfer_side.h"
#include "sync/sync_plan.h"
#include "sync/transfer_memory.h"

namespace stoker {

// Thread-safe after Load. Lines of the journal: "=", key, source, target; "+", key, source, id;
// separated by tabs; a later line of a key counts.
class SyncMemory : public TransferMemory {
 public:
  // `journal` outlives it.
  explicit SyncMemory(Journal& journal) : journal_(journal) {}
  // Lines that make no sense are passed over: they may be torn.
  Status Load();
  const std::map<std::string, KnownPair>& known() const { return known_; }
  std::string Begun(const std::string& key, const Version& source) const override;
  Status NoteSame(const std::string& key, const Version& source, const Version& target) override;
  Status NoteBegun(const std::string& key, const Version& source, const std::string& id) override;
  bool lasts() const override { return true; }

  // Writes the journal anew when it holds much that nobody needs: what is not in `source`.
  Status Compact(const std::vector<ObjectInfo>& source);

 private:
  Journal& journal_;
  std::map<std::string, KnownPair> known_;
  std::map<std::string, OpenUpload> begun_;
  size_t lines_ = 0;
};

}  // namespace stoker

// SPDX-License-Identifier: Apache-2.0
// A Python environment as archives, so that it can be unpacked in another folder, on another
// machine. Byte code, the link to the interpreter and stoker's own files stay behind.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "ledger/envs/kept_envs.h"

namespace stoker::node {

// Folders of packages over so many bytes are parts of their own: environments share them. So are
// files over so many, wherever they lie: a machine unpacks several parts at once.
inline constexpr int64_t kLargePackage = int64_t{20} << 20;
inline constexpr int64_t kLargeFile = int64_t{64} << 20;

struct EnvEntry {
  uint64_t inode = 0;
  uint32_t mode = 0;
  int64_t size = 0;
  int64_t mtime_ns = 0;
};
// By path, folders before what is in them; bytewise.
using EnvTree = std::map<std::string, EnvEntry>;

// Follows no link.
Result<EnvTree> SeeEnv(const std::string& folder);
// The same for the same files alone: a digest of all that lstat says of them.
std::string StampOf(const EnvTree& tree);

struct PartPlan {
  std::string path;                  // EnvPart::path
  std::vector<std::string> entries;  // of the tree, in its order; all lie below `path`
};
// Each entry is of one part; of the folder `path` itself none is. That of "" is the first. Pure.
std::vector<PartPlan> PlanParts(const EnvTree& tree);

struct PartWriter {
  std::string folder;  // of the environment
  const EnvTree& tree;
  std::function<bool()> stop;
  std::function<bool(const std::string& text)> holds_secret;  // may be empty
};
struct WrittenPart {
  EnvPart part;
  bool names_folder = false;  // one of its files holds the path of the environment
};
// Writes the part to the descriptor `out`; the same files give the same bytes. kCancelled: `stop`;
// kInvalid: it cannot be kept, with the file; kBusy: a file changed.
Result<WrittenPart> WritePart(const PartWriter& by, const PartPlan& plan, int out);

}  // namespace stoker::node

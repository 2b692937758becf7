// SPDX-License-Identifier: Apache-2.0
// What observers that look once (a timer, a verb) have seen of nodes that say nothing, kept in the
// store for the next of them. It only ever lets a node be called silent; without it, one is waited
// for. docs/ledger.md has the format.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/time.h"
#include "ledger/ledger.h"

namespace stoker {

struct QuietNode {
  int attempt = 0;
  int rank = 0;
  int64_t seq = 0;  // of its report, which was the newest at each look
  std::string incarnation;
  WallTime since;        // the first of these looks; store's clock
  Duration longest_gap;  // between two of them
};

inline constexpr int kQuietNodesFormat = 1;

struct QuietNodes {
  int format = kQuietNodesFormat;
  WallTime at;  // the last look; store's clock
  std::vector<QuietNode> nodes;
};

// Empty when there is none, or none that can be read. kTooNew: a newer stoker's, not to be touched.
Result<QuietNodes> ReadQuietNodes(Ledger& ledger, const std::string& job);
// Whoever writes last wins: what is lost of others' looks is waited for once more.
Status WriteQuietNodes(Ledger& ledger, const std::string& job, const QuietNodes& looks);

}  // namespace stoker

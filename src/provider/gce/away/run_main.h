// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

namespace stoker {

// Where the function may ask for machines (GcePlace), blanks between: all zones of its bound.
inline constexpr char kAwayPlacesVariable[] = "STOKER_AWAY_PLACES";

// A task of Cloud Run has so long.
inline constexpr int kCloudRunSeconds = 240;

// Where this process is a task of the job of Cloud Run that 'stoker controller --install gcp'
// makes, as its environment says: looks after the ledger's jobs once, and returns the exit code.
// SIGTERM ends it in good order. Unset: it is none. Source: "Container runtime contract" (Cloud
// Run).
std::optional<int> CloudRunMain();

}  // namespace stoker

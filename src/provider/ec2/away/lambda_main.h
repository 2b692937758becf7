// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

namespace stoker {

// Variables of the function that 'stoker controller --install aws' makes.
inline constexpr char kAwayStoreVariable[] = "STOKER_AWAY_STORE";
inline constexpr char kAwayLedgerVariable[] = "STOKER_AWAY_LEDGER";
inline constexpr char kAwayBoundVariable[] = "STOKER_AWAY_BOUND";

// Where this process is such a function, as its environment says: looks after jobs whenever Lambda
// calls, and returns the exit code. Unset: it is none.
std::optional<int> LambdaMain();

}  // namespace stoker

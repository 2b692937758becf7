// SPDX-License-Identifier: Apache-2.0
// How often tests that draw at random do so. For tests alone.
#pragma once

#include <cstdint>

namespace stoker {

// `all` where the code is optimized. Where each round is ten times as slow (trees `debug`, which is
// not, and `tsan`), a quarter, and between two edits (`check`) a sixteenth: `./dev test --all`
// plays all of them in the release tree and with ASan in the tree `full`.
constexpr int Rounds(int all) {
#if defined(STOKER_FEW_ROUNDS)
  return (all + 15) / 16;
#elif defined(__SANITIZE_THREAD__) || !defined(__OPTIMIZE__)
  return (all + 3) / 4;
#else
  return all;
#endif
}

}  // namespace stoker

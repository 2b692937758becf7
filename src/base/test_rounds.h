// SPDX-License-Identifier: Apache-2.0
// How often tests that draw at random do so. For tests alone.
#pragma once

#include <cstdint>

namespace stoker {

// `all` in most trees. Where a sanitizer makes each round ten times as slow (tree `debug`, not
// optimized, and `tsan`), a quarter: what it looks for shows in any of them, and `./dev test --all`
// plays all of them in the release tree and with ASan in the tree `full`.
constexpr int Rounds(int all) {
#if defined(__SANITIZE_THREAD__) || (defined(__SANITIZE_ADDRESS__) && !defined(__OPTIMIZE__))
  return (all + 3) / 4;
#else
  return all;
#endif
}

}  // namespace stoker

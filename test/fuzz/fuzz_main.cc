// SPDX-License-Identifier: Apache-2.0
// libFuzzer's end of the targets: `fuzz TARGET [libFuzzer's arguments]`; `fuzz` names them.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "test/fuzz/target.h"

namespace {

stoker::fuzz::Target chosen = nullptr;

}  // namespace

// LLVM's names.
extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  // libFuzzer starts itself again, to merge and to minimise, and does not know of the name.
  constexpr char kTarget[] = "STOKER_FUZZ_TARGET";
  const auto& targets = stoker::fuzz::Targets();
  if (const char* name = std::getenv(kTarget)) {
    chosen = targets.at(name);
    return 0;
  }
  const auto found = *argc > 1 ? targets.find((*argv)[1]) : targets.end();
  if (found == targets.end()) {
    for (const auto& [name, target] : targets) std::puts(name.c_str());
    std::exit(*argc > 1 ? 2 : 0);
  }
  chosen = found->second;
  setenv(kTarget, found->first.c_str(), 1);
  // For libFuzzer the name is not there.
  for (int i = 1; i + 1 < *argc; ++i) (*argv)[i] = (*argv)[i + 1];
  --*argc;
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  chosen({reinterpret_cast<const char*>(data), size});
  return 0;
}

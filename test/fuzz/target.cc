// SPDX-License-Identifier: Apache-2.0
#include "test/fuzz/target.h"

#include <cstdio>
#include <cstdlib>

namespace stoker::fuzz {

std::map<std::string, Target>& Targets() {
  static std::map<std::string, Target> targets;
  return targets;
}

void Fail(const char* file, int line, const char* condition, const std::string& what) {
  std::fprintf(stderr, "%s:%d: does not hold: %s\n%s\n", file, line, condition, what.c_str());
  std::abort();
}

}  // namespace stoker::fuzz

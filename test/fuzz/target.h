// SPDX-License-Identifier: Apache-2.0
// What a fuzz target is: a function that takes any bytes, gives them to a parser and states what
// must be true of what comes back. docs/fuzzing.md.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/status.h"

namespace stoker::fuzz {

using Target = void (*)(std::string_view input);

// By name, which is that of its folder in corpus/ too.
std::map<std::string, Target>& Targets();

struct Registered {
  Registered(const char* name, Target target) { Targets()[name] = target; }
};

// Says what is wrong and aborts, which is a finding.
[[noreturn]] void Fail(const char* file, int line, const char* condition, const std::string& what);

// The failures that a parser of others' data may give. Anything else is a defect: kInternal, or a
// code that would be tried again.
inline bool Refused(const Status& status, Code one, Code two = Code::kOk) {
  return !status.ok() && (status.Is(one) || status.Is(two));
}

}  // namespace stoker::fuzz

#define FUZZ_TARGET(name)                                                         \
  static void Fuzz_##name(std::string_view input);                                \
  static const ::stoker::fuzz::Registered fuzz_target_##name(#name, Fuzz_##name); \
  static void Fuzz_##name(std::string_view input)

// `what`: text that is printed with the condition; only looked at when that does not hold.
#define FUZZ_EXPECT(condition, what)                                              \
  do {                                                                            \
    if (!(condition)) ::stoker::fuzz::Fail(__FILE__, __LINE__, #condition, what); \
  } while (false)

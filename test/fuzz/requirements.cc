// SPDX-License-Identifier: Apache-2.0
// requirements.txt of somebody's work directory.
#include "node/env/requirements.h"

#include <algorithm>

#include "base/text.h"
#include "spec/text/secrets.h"
#include "test/fuzz/target.h"

FUZZ_TARGET(requirements) {
  using namespace stoker;
  using node::RequirementsScope;
  using node::ScopeOfRequirements;
  const RequirementsScope scope = ScopeOfRequirements(input);
  // What one of two halves depends on, the whole does, where no backslash joins them.
  for (size_t at = input.find('\n'); at != input.npos; at = input.find('\n', at + 1)) {
    const std::string_view front = input.substr(0, at);
    if (!front.empty() && front.back() == '\\') continue;
    const size_t line = front.rfind('\n') == front.npos ? 0 : front.rfind('\n') + 1;
    if (front.find('#', line) != front.npos) continue;
    const auto halves = std::max(ScopeOfRequirements(front), ScopeOfRequirements(input.substr(at)));
    FUZZ_EXPECT(halves == scope, std::string(front));
    break;
  }
  // An editors' line ends are no requirement's.
  if (input.find_first_of("\\\r") == input.npos) {
    std::string dos;
    for (const char c : input) dos += c == '\n' ? std::string("\r\n") : std::string(1, c);
    FUZZ_EXPECT(ScopeOfRequirements(dos) == scope, dos);
  }
  FUZZ_EXPECT(ScopeOfRequirements(std::string(input) + "\n\n-e .") == RequirementsScope::kDirectory,
              std::string(input));
  for (const std::string& line : Split(input, '\n')) {
    const std::string what = SecretInText(line);
    FUZZ_EXPECT(what.size() < 100 && Printable(what) == what, what);
  }
}

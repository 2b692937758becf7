// SPDX-License-Identifier: Apache-2.0
// The job file that a user wrote, and spec.yaml in a store that others write to.
#include "base/text.h"
#include "base/utf8.h"
#include "spec/parse.h"
#include "spec/print.h"
#include "test/fuzz/target.h"
#include "test/kit/places.h"

namespace stoker::fuzz {
namespace {

// What is printed is read as what was meant, and printed as the same bytes again.
void ExpectStored(const JobSpec& spec) {
  const std::string printed = PrintJobSpec(spec);
  FUZZ_EXPECT(IsUtf8(printed), printed);
  const auto again = ParseStoredSpec(printed);
  FUZZ_EXPECT(again.ok(), again.status().ToString() + "\n" + printed);
  FUZZ_EXPECT(PrintJobSpec(*again) == printed, printed + PrintJobSpec(*again));
  FUZZ_EXPECT(*again == spec, printed);
}

}  // namespace
}  // namespace stoker::fuzz

FUZZ_TARGET(job_file) {
  using namespace stoker;
  using namespace stoker::fuzz;
  ParseOptions options;
  options.base_dir = "/home/u/project";
  options.home = "/home/u";
  options.is_directory = [](const std::string& path) { return path.find("no") == path.npos; };
  options.exists = options.is_directory;
  const ParsedSpec parsed = ParseJobSpecAll(input, options);
  for (const SpecError& error : parsed.errors) {
    FUZZ_EXPECT(!error.ToString().empty(), "an error without words");
  }
  for (const std::string& note : parsed.notes) FUZZ_EXPECT(!note.empty(), "a note without words");
  if (parsed.errors.empty()) {
    const JobSpec& spec = parsed.spec;
    FUZZ_EXPECT(IsSafeName(spec.name), spec.name);
    FUZZ_EXPECT(spec.run.empty() != spec.argv.empty(), "one of run and argv");
    FUZZ_EXPECT(spec.num_nodes >= 1, std::to_string(spec.num_nodes));
    ExpectStored(spec);
  }
  const auto stored = ParseStoredSpec(input);
  if (stored.ok()) ExpectStored(*stored);
  FUZZ_EXPECT(stored.ok() || Refused(stored.status(), Code::kInvalid, Code::kTooNew),
              stored.status().ToString());
}

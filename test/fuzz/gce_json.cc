// SPDX-License-Identifier: Apache-2.0
// What Compute Engine answers.
#include "base/text.h"
#include "provider/gce/gce_answer.h"
#include "provider/gce/gce_catalog.h"
#include "provider/gce/gce_errors.h"
#include "provider/gce/gce_options.h"
#include "test/fuzz/target.h"

FUZZ_TARGET(gce_json) {
  using namespace stoker;
  using namespace stoker::gce;
  const std::string text(input);
  const auto page = ParseInstances(text, WallTime{1'000'000'000'000});
  FUZZ_EXPECT(page.ok() || page.status().Is(Code::kCorrupt), page.status().ToString());
  if (page.ok()) {
    for (const Instance& instance : page->instances) {
      const InstanceSeen& seen = instance.seen;
      FUZZ_EXPECT(Printable(seen.id) == seen.id && seen.index >= 0, seen.id);
      FUZZ_EXPECT(!seen.up_for || seen.up_for->ms >= 0, seen.id);
    }
  }
  const auto instance = ParseInstance(text, WallTime{1'000'000'000'000});
  FUZZ_EXPECT(!instance.ok() || !instance->seen.id.empty(), text);
  const auto operation = ParseOperation(text);
  FUZZ_EXPECT(!operation.ok() || !operation->name.empty(), text);
  if (operation.ok()) {
    const Refusal told = RefusalOfOperation(operation->errors);
    FUZZ_EXPECT(Printable(told.message) == told.message, told.message);
    FUZZ_EXPECT(!told.message.empty() || !operation->errors.empty(), text);
  }
  (void)ParseOperations(text);
  std::string next;
  (void)ParseTypes(text, &next);
  for (const int status : {200, 400, 403, 404, 409, 429, 503}) {
    const Failure failure = ParseFailure({status, {}, text});
    const Status said = StatusOf("GET x", failure);
    FUZZ_EXPECT(!said.ok() && said.message().size() < 4000, said.ToString());
    FUZZ_EXPECT(Printable(said.message()) == said.message(), said.message());
    (void)RefusalOf(failure);
  }
  const auto options = ParseOptions(text);
  if (options.ok()) {
    const auto again = ParseOptions(EncodeOptions(*options));
    FUZZ_EXPECT(again.ok() && EncodeOptions(*again) == EncodeOptions(*options), text);
  }
}

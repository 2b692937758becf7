// SPDX-License-Identifier: Apache-2.0
// The documents that EC2, and services that speak as it does, answer with.
#include "base/text.h"
#include "base/utf8.h"
#include "provider/ec2/api/ec2_errors.h"
#include "provider/ec2/api/ec2_query.h"
#include "provider/ec2/ec2_instances.h"
#include "provider/ec2/ec2_options.h"
#include "test/fuzz/target.h"

FUZZ_TARGET(ec2_xml) {
  using namespace stoker;
  using namespace stoker::ec2;
  const std::string text(input);
  const auto page = ParseInstances(text, WallTime{1'000'000'000'000});
  FUZZ_EXPECT(page.ok() || page.status().Is(Code::kCorrupt), page.status().ToString());
  if (page.ok()) {
    FUZZ_EXPECT(IdsByIndex(page->instances, 3).size() == 3, "an id for each index");
  }
  for (const int status : {200, 400, 503}) {
    const Failure failure = ParseFailure({status, {}, text});
    const Status said = StatusOf("RunInstances", failure);
    FUZZ_EXPECT(!said.ok() && said.message().size() < 4000, said.ToString());
    FUZZ_EXPECT(Printable(said.message()) == said.message(), said.message());
    (void)RefusalOf(failure);
  }
  (void)RefusalOfDeath(text, text);
  const auto options = ParseOptions(text);
  if (options.ok()) {
    const auto again = ParseOptions(EncodeOptions(*options));
    FUZZ_EXPECT(again.ok() && EncodeOptions(*again) == EncodeOptions(*options), text);
  }
}

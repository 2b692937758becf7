// SPDX-License-Identifier: Apache-2.0
// What Google Cloud Storage answers.
#include "base/text.h"
#include "store/bucket_check.h"
#include "store/gcs/gcs_answer.h"
#include "test/fuzz/target.h"

namespace stoker::fuzz {
namespace {

void ExpectObject(const ObjectInfo& info) {
  FUZZ_EXPECT(info.size >= 0, info.key);
  FUZZ_EXPECT(!info.version.empty(), info.key);
  FUZZ_EXPECT(info.last_modified.ms % 1000 == 0, std::to_string(info.last_modified.ms));
}

}  // namespace
}  // namespace stoker::fuzz

FUZZ_TARGET(gcs_json) {
  using namespace stoker;
  using namespace stoker::fuzz;
  const std::string text(input);
  const auto resource = gcs::ParseResource("GET", text);
  if (resource.ok()) ExpectObject(resource->info);
  FUZZ_EXPECT(resource.ok() || resource.status().Is(Code::kCorrupt), resource.status().ToString());
  const auto all = gcs::ParsePage("GET", text, "");
  if (all.ok()) {
    FUZZ_EXPECT(all->checksums.size() == all->listing.objects.size(), "sums of other objects");
    for (const ObjectInfo& info : all->listing.objects) ExpectObject(info);
  }
  FUZZ_EXPECT(all.ok() || all.status().Is(Code::kCorrupt), all.status().ToString());
  const auto below = gcs::ParsePage("GET", text, "team/a/");
  if (below.ok()) {
    FUZZ_EXPECT(all.ok(), "only below a folder");
    for (size_t i = 0; i < below->listing.objects.size(); ++i) {
      FUZZ_EXPECT("team/a/" + below->listing.objects[i].key == all->listing.objects[i].key, "");
    }
  }
  for (const int status : {200, 403, 404, 429, 503}) {
    const Status said = gcs::FailureStatus("GET", {status, {}, text});
    FUZZ_EXPECT(!said.ok() && said.message().size() < 1000, said.ToString());
    FUZZ_EXPECT(Printable(said.message()) == said.message(), said.message());
  }
  for (const char* prefix : {"", "team/a"}) {
    BucketCheck facts;
    ReadGcsBucket(text, prefix, &facts);
    for (const BucketFinding& fact : facts.facts) FUZZ_EXPECT(!fact.text.empty(), fact.what);
  }
}

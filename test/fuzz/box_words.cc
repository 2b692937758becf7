// SPDX-License-Identifier: Apache-2.0
// What stoker here and `stoker __box` on a box say to each other, each way.
#include "provider/ssh/box_words.h"

#include "base/json.h"
#include "provider/ssh/box_share.h"
#include "test/fuzz/target.h"

namespace stoker::fuzz {
namespace {

// What is taken, put and taken again is put in the same words; all else is damaged.
template <typename Take, typename Put>
void ExpectSame(const BoxJson& in, Take take, Put put) {
  const auto taken = take(in);
  if (!taken.ok()) {
    FUZZ_EXPECT(taken.status().Is(Code::kCorrupt), taken.status().ToString());
    return;
  }
  BoxJson once = BoxJson::object();
  put(*taken, &once);
  const auto again = take(once);
  FUZZ_EXPECT(again.ok(), again.status().ToString());
  BoxJson twice = BoxJson::object();
  put(*again, &twice);
  FUZZ_EXPECT(once == twice, "put twice, it is not the same");
}

}  // namespace
}  // namespace stoker::fuzz

FUZZ_TARGET(box_words) {
  using namespace stoker;
  using namespace stoker::fuzz;
  const BoxJson in = BoxJson::parse(input, nullptr, false);
  ExpectSame(in, TakeRequest, PutRequest);
  ExpectSame(in, TakePrivate, PutPrivate);
  ExpectSame(in, TakeSeen, PutSeen);
  ExpectSame(in, TakeHello, PutHello);
  ExpectSame(in, TakeProspect, PutProspect);
  ExpectSame(in, TakeShare, PutShare);
  std::optional<Refusal> refusal;
  (void)FailureOf(in, &refusal);
  (void)BoxText(in, "verb");
}

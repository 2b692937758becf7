// SPDX-License-Identifier: Apache-2.0
// The index: what `ls` reads before anything else.
#include "base/digest.h"
#include "base/text.h"
#include "ledger/summary.h"
#include "test/fuzz/target.h"

namespace stoker::fuzz {
namespace {

void ExpectSameLines(const std::vector<Summary>& lines) {
  const std::string text = EncodeSegment(lines);
  std::vector<Summary> again;
  const Status status = DecodeSegment("again", text, &again);
  FUZZ_EXPECT(status.ok(), status.ToString() + "\n" + text);
  FUZZ_EXPECT(EncodeSegment(again) == text, text + EncodeSegment(again));
  FUZZ_EXPECT(again.size() == lines.size(), std::to_string(again.size()));
}

}  // namespace
}  // namespace stoker::fuzz

FUZZ_TARGET(index) {
  using namespace stoker;
  using namespace stoker::fuzz;
  std::vector<Summary> out;
  const Status status = DecodeSegment("index/s", input, &out);
  FUZZ_EXPECT(status.ok() || Refused(status, Code::kCorrupt, Code::kTooNew), status.ToString());
  ExpectSameLines(out);

  // A fuzzer makes no SHA-256: the same lines with the last one that they should have.
  std::string lines(input.substr(0, input.rfind("{\"format\":")));
  if (!lines.empty() && lines.back() != '\n') lines += '\n';
  const std::vector<std::string> each = Split(lines, '\n');
  const size_t count = each.size() - 1;
  lines += "{\"format\":1,\"lines\":" + std::to_string(count) + ",\"sha256\":\"" +
           Sha256Hex(lines) + "\"}\n";
  size_t good = 0;
  for (size_t i = 0; i < count; ++i) good += DecodeSummary(each[i]).has_value() ? 1 : 0;
  out.clear();
  const Status whole = DecodeSegment("index/s", lines, &out);
  FUZZ_EXPECT(out.size() == good, std::to_string(out.size()));
  FUZZ_EXPECT(whole.ok() == (good == count), whole.ToString());
  FUZZ_EXPECT(whole.ok() || whole.Is(Code::kCorrupt), whole.ToString());
  ExpectSameLines(out);
}

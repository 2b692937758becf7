// SPDX-License-Identifier: Apache-2.0
// Whether a file that a program left is whole: zip as torch.save and numpy write it, safetensors,
// JSON. The answer decides what a job resumes from.
#include "checkpoint/rule/format_check.h"

#include <algorithm>
#include <cstring>

#include "checkpoint/rule/zip_check.h"
#include "test/fuzz/target.h"

namespace stoker::fuzz {
namespace {

// Counts what is read, and gives no more than `piece` bytes at a time.
class CountingBytes : public ByteSource {
 public:
  CountingBytes(std::string_view bytes, int64_t piece) : bytes_(bytes), piece_(piece) {}
  int64_t size() const override { return static_cast<int64_t>(bytes_.size()); }
  Result<int64_t> Read(int64_t offset, char* buffer, int64_t count) override {
    FUZZ_EXPECT(offset >= 0 && count >= 0, "a place before the beginning");
    FUZZ_EXPECT(count <= size(), "more memory than there is to read");
    const int64_t left = offset < size() ? size() - offset : 0;
    const int64_t got = std::min<int64_t>({count, left, piece_});
    std::memcpy(buffer, bytes_.data() + (got > 0 ? offset : 0), static_cast<size_t>(got));
    read_ += got;
    return got;
  }
  int64_t read() const { return read_; }

 private:
  std::string_view bytes_;
  int64_t piece_;
  int64_t read_ = 0;
};

Wholeness Judge(std::string_view bytes, int64_t piece, Wholeness (*check)(ByteSource&)) {
  CountingBytes source(bytes, piece);
  const Wholeness judged = check(source);
  // The tail, the directory, and each byte of data once; headers of entries that are tiny.
  FUZZ_EXPECT(source.read() <= 4 * source.size() + 1024,
              std::to_string(source.read()) + " bytes read of " + std::to_string(source.size()));
  return judged;
}

}  // namespace
}  // namespace stoker::fuzz

FUZZ_TARGET(format_check) {
  using namespace stoker;
  using namespace stoker::fuzz;
  for (const auto check : {CheckFormat, CheckZip}) {
    const Wholeness judged = Judge(input, INT64_MAX, check);
    FUZZ_EXPECT(Judge(input, 7, check) == judged, "another answer in small pieces");
    const bool json = !input.empty() && input.find_first_of("{[") < 17 && input[0] != 'P';
    if (judged != Wholeness::kWhole && judged != Wholeness::kFullSize) continue;
    if (json && judged == Wholeness::kWhole) continue;  // blanks at its end are of no weight
    const Wholeness cut = Judge(input.substr(0, input.size() - 1), INT64_MAX, check);
    FUZZ_EXPECT(cut != judged, "whole without its last byte");
  }
}

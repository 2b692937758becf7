// SPDX-License-Identifier: Apache-2.0
#include "ledger/segments/segment_text.h"

#include <charconv>

#include "base/digest.h"
#include "base/text.h"

namespace stoker {
namespace {

constexpr int kSegmentFormat = 1;

std::string Footer(std::string_view lines, size_t count) {
  return "{\"format\":" + std::to_string(kSegmentFormat) + ",\"lines\":" + std::to_string(count) +
         ",\"sha256\":\"" + Sha256Hex(lines) + "\"}\n";
}

// Many bytes, few of them line ends: a search is several times as fast as std::count here.
size_t CountLines(std::string_view text) {
  size_t count = 0;
  for (size_t at = text.find('\n'); at != text.npos; at = text.find('\n', at + 1)) ++count;
  return count;
}

}  // namespace

std::string EndSegment(std::string lines) { return lines + Footer(lines, CountLines(lines)); }

Status ReadSegmentLines(const std::string& key, std::string_view text,
                        const std::function<bool(std::string_view line)>& take) {
  const Status corrupt(Code::kCorrupt, key + ": damaged");
  if (text.empty() || text.back() != '\n') return corrupt;
  const size_t end = text.rfind('\n', text.size() - 2);
  const size_t body = end == text.npos ? 0 : end + 1;
  const std::string_view lines = text.substr(0, body);
  const std::string_view footer = text.substr(body);
  constexpr std::string_view kStart = "{\"format\":";
  int format = 0;
  if (!StartsWith(footer, kStart)) return corrupt;
  (void)std::from_chars(footer.data() + kStart.size(), footer.data() + footer.size(), format);
  if (format > kSegmentFormat) {
    return Status(Code::kTooNew, key + ": was written by a newer stoker",
                  "Update stoker on this machine");
  }
  const size_t count = CountLines(lines);
  if (footer != Footer(lines, count)) return corrupt;
  size_t wrong = 0;
  for (size_t at = 0; at < lines.size();) {
    const size_t stop = lines.find('\n', at);
    if (!take(lines.substr(at, stop - at))) ++wrong;
    at = stop + 1;
  }
  if (wrong == 0) return Status::Ok();
  return Status(Code::kCorrupt, key + ": " + std::to_string(wrong) + " of " +
                                    std::to_string(count) + " lines cannot be read");
}

}  // namespace stoker

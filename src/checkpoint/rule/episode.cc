// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/rule/episode.h"

#include <algorithm>
#include <optional>

#include "base/text.h"

namespace stoker {

Duration LongestStretch(std::vector<WriteTime> writes, Duration pause) {
  std::sort(writes.begin(), writes.end(),
            [](const WriteTime& a, const WriteTime& b) { return a.begin < b.begin; });
  Duration longest;
  std::optional<WriteTime> stretch;
  for (const WriteTime& write : writes) {
    if (!stretch || write.begin - stretch->end > pause) stretch = write;
    stretch->end = std::max(stretch->end, write.end);
    longest = std::max(longest, stretch->end - stretch->begin);
  }
  return longest;
}

std::string TopOf(std::string_view path) { return std::string(path.substr(0, path.find('/'))); }

std::string WithoutNumbers(std::string_view name) {
  std::string out;
  for (char c : name) {
    if (!IsDigit(c)) {
      out += c;
    } else if (out.empty() || out.back() != '#') {
      out += '#';
    }
  }
  return out;
}

int64_t LastNumber(std::string_view name) {
  size_t end = name.size();
  while (end > 0 && !IsDigit(name[end - 1])) --end;
  size_t begin = end;
  while (begin > 0 && IsDigit(name[begin - 1])) --begin;
  if (begin == end || end - begin > 15) return -1;
  int64_t value = 0;
  for (size_t i = begin; i < end; ++i) value = value * 10 + (name[i] - '0');
  return value;
}

bool IsStream(std::string_view path) {
  const size_t slash = path.rfind('/');
  const std::string_view name = slash == std::string_view::npos ? path : path.substr(slash + 1);
  return StartsWith(name, "events.out.tfevents.") || EndsWith(name, ".log") ||
         EndsWith(name, ".jsonl") || EndsWith(name, ".wandb") || EndsWith(name, ".csv") ||
         EndsWith(name, ".tsv");
}

}  // namespace stoker

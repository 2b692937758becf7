// SPDX-License-Identifier: Apache-2.0
#include "cli/sync_filter.h"

#include "base/text.h"

namespace stoker::cli {

SyncFilter::SyncFilter(const std::vector<std::string>& include,
                       const std::vector<std::string>& exclude)
    : include_(Compile(include)), exclude_(Compile(exclude)) {}

std::vector<SyncFilter::Pattern> SyncFilter::Compile(const std::vector<std::string>& patterns) {
  std::vector<Pattern> out;
  for (std::string text : patterns) {
    while (text.size() > 1 && text.back() == '/') text.pop_back();
    const bool whole = text.find('/') != std::string::npos;
    if (StartsWith(text, "/")) text.erase(0, 1);
    out.push_back({pack::Glob(text), whole});
  }
  return out;
}

bool SyncFilter::Among(const std::vector<Pattern>& patterns, const std::string& key) {
  for (size_t begin = 0, end = key.find('/');; begin = end + 1, end = key.find('/', begin)) {
    const std::string part = key.substr(begin, end == std::string::npos ? end : end - begin);
    const std::string whole = key.substr(0, end);
    for (const Pattern& pattern : patterns) {
      if (pattern.glob.Matches(pattern.whole ? whole : part)) return true;
    }
    if (end == std::string::npos) return false;
  }
}

bool SyncFilter::Takes(const std::string& key) const {
  return (include_.empty() || Among(include_, key)) && !Among(exclude_, key);
}

}  // namespace stoker::cli

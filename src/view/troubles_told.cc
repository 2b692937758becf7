// SPDX-License-Identifier: Apache-2.0
#include "view/troubles_told.h"

#include "base/text.h"

namespace stoker {
namespace {

// Without the number of "(3 tries; …)", which grows with each report.
std::string WithoutCounts(const std::string& text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    out += text[i];
    if (text[i] != '(') continue;
    size_t end = i + 1;
    while (end < text.size() && IsDigit(text[end])) ++end;
    if (end == i + 1 || end == text.size() || text[end] != ' ') continue;
    while (end + 1 < text.size() && IsAlnum(text[end + 1])) ++end;  // "1 try", "2 tries"
    i = end;
  }
  return out;
}

}  // namespace

std::vector<const NodeReport*> TroublesTold::News(const std::vector<ReportSeen>& reports) {
  std::vector<const NodeReport*> news;
  for (const ReportSeen& seen : reports) {
    const NodeReport& report = seen.report;
    std::set<std::string>& told = told_[{report.attempt, report.rank}];
    if (report.trouble.empty()) {
      told.clear();
    } else if (told.insert(WithoutCounts(report.trouble)).second) {
      news.push_back(&report);
    }
  }
  return news;
}

}  // namespace stoker

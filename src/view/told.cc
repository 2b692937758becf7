// SPDX-License-Identifier: Apache-2.0
#include "view/told.h"

#include <algorithm>

#include "base/json.h"
#include "base/text.h"

namespace stoker {

std::vector<ToldWhom> ReadTold(Ledger& ledger, const std::string& job, const JobSpec* spec) {
  std::vector<ToldWhom> all;
  if (spec == nullptr || spec->notify.empty()) return all;
  const auto read = ListNotified(ledger, job);
  if (!read.ok()) return all;
  for (const Notified& one : *read) {
    const auto entry = static_cast<size_t>(one.entry);
    const bool known = entry < spec->notify.size();
    const NotifySpec to = known ? spec->notify[entry] : NotifySpec();
    all.push_back({one, known ? Whom(to) : ""});
  }
  std::stable_sort(all.begin(), all.end(), [](const ToldWhom& a, const ToldWhom& b) {
    return a.told.first < b.told.first;
  });
  return all;
}

std::string ToldText(const ToldWhom& one) {
  std::string text = Printable(one.told.key) + " to " + one.whom;
  if (one.told.state == "given_up") text += ": given up: " + Printable(one.told.why);
  if (one.told.state == "failed")
    text += ": not yet, it is tried again: " + Printable(one.told.why);
  if (one.told.state == "sending") text += ": begun";
  return text;
}

nlohmann::json ToldJson(const std::vector<ToldWhom>& all) {
  auto out = nlohmann::json::array();
  for (const ToldWhom& one : all) {
    out.push_back({{"event", one.told.key},
                   {"to", one.whom},
                   {"state", one.told.state},
                   {"at", FormatRfc3339(one.told.at)},
                   {"tries", one.told.tries}});
    if (!one.told.why.empty()) out.back()["why"] = one.told.why;
  }
  return out;
}

}  // namespace stoker

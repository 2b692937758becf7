// SPDX-License-Identifier: Apache-2.0
#include "provider/cloud/refusal_rows.h"

#include <algorithm>

#include "base/text.h"

namespace stoker::cloud {
namespace {

const char* ClassText(RefusalClass what) {
  switch (what) {
    case RefusalClass::kCapacity:
      return "no room";
    case RefusalClass::kQuota:
      return "quota";
    case RefusalClass::kThrottled:
      return "too fast";
    case RefusalClass::kDenied:
      return "denied";
    case RefusalClass::kInvalid:
      return "for good";
    case RefusalClass::kOver:
      return "over";
    case RefusalClass::kUnanswered:
      return "no answer";
    case RefusalClass::kNotYetConsistent:
      return "not yet";
  }
  return "";
}

const char* ScopeText(RefusalScope scope) {
  switch (scope) {
    case RefusalScope::kRequest:
      return "this request";
    case RefusalScope::kZone:
      return "type and market in the zone";
    case RefusalScope::kMarket:
      return "type and market in the region";
    case RefusalScope::kRegion:
      return "market in the region";
    case RefusalScope::kAccount:
      return "account";
  }
  return "";
}

}  // namespace

bool Fits(const RefusalRow& row, std::string_view code, const std::string& message) {
  if (!row.code.empty() && row.code != code) return false;
  // Nothing at all fits no row.
  if (row.code.empty() && message.empty()) return false;
  return message.find(row.says) != std::string::npos;
}

Refusal MakeRefusal(RefusalClass what, RefusalScope scope, int64_t wait_s, std::string message) {
  Refusal refusal;
  refusal.what = what;
  refusal.scope = scope;
  refusal.wait = Duration::Seconds(wait_s);
  refusal.message = std::move(message);
  return refusal;
}

std::string RefusalText(const std::string& code, std::string said, std::string_view next) {
  constexpr std::string_view kCut = "…";
  const size_t rest = code.size() + next.size() + 4;  // ": ", ". "
  const size_t room = kMostRefusalText - std::min(rest, kMostRefusalText);
  if (said.size() > room && !next.empty()) {
    said = CutText(said, room - std::min(kCut.size(), room)) + std::string(kCut);
  }
  std::string text = code;
  if (!said.empty()) text += (text.empty() ? "" : ": ") + said;
  if (next.empty()) return text;
  return text + (EndsWith(text, ".") ? " " : ". ") + std::string(next);
}

std::string RefusalTable(std::span<const RefusalRow> rows) {
  std::string out =
      "| words | class | holds for | what to do, or what happens |\n|---|---|---|---|\n";
  for (const RefusalRow& row : rows) {
    std::string words;
    if (!row.code.empty()) words = "`" + std::string(row.code) + "`";
    if (!row.says.empty()) {
      words += (words.empty() ? "“…" : " “…") + std::string(row.says) + "…”";
    }
    std::string what = ClassText(row.what);
    if (row.wait_s > 0) what += ", asked again in " + HumanDuration(Duration::Seconds(row.wait_s));
    out += "| " + words + " | " + what + " | " + ScopeText(row.scope) + " | " +
           std::string(row.next) + " |\n";
  }
  return out;
}

}  // namespace stoker::cloud

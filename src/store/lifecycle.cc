// SPDX-License-Identifier: Apache-2.0
#include "store/lifecycle.h"

#include <fmt/format.h>

#include <algorithm>
#include <pugixml.hpp>

#include "base/json.h"
#include "base/text.h"

namespace stoker {
namespace {

using Json = nlohmann::json;

constexpr int64_t kMostDays = 1'000'000;

enum class Reach { kNone, kPart, kAll };

// How much of what lies below `prefix` has keys that begin with `start`.
Reach ReachOf(const std::string& start, const std::string& prefix) {
  const std::string below = prefix.empty() ? "" : prefix + "/";
  if (StartsWith(below, start)) return Reach::kAll;
  return StartsWith(start, below) ? Reach::kPart : Reach::kNone;
}

std::string Which(Reach reach, const std::string& start, bool narrowed) {
  std::string text = reach == Reach::kAll ? "everything in the store" : "what begins with '";
  if (reach == Reach::kPart) text += Printable(start) + "'";
  return text + (narrowed ? ", on further conditions" : "");
}

void Clear(double days, Lifecycle* out) {
  out->clears_versions = std::min(out->clears_versions.value_or(days), days);
}

// The conditions of an S3 rule: in `Filter`, in `Filter/And`, or, of old, a `Prefix` of its own.
struct S3Filter {
  std::string start;
  bool tagged = false;
  bool narrowed = false;  // by sizes
};

S3Filter FilterOf(const pugi::xml_node& rule) {
  S3Filter out;
  const pugi::xml_node filter = rule.child("Filter");
  for (const pugi::xml_node& place : {rule, filter, filter.child("And")}) {
    if (const auto prefix = place.child("Prefix")) out.start = prefix.text().as_string();
    out.tagged |= !place.child("Tag").empty();
    out.narrowed |= !place.child("ObjectSizeGreaterThan").empty();
    out.narrowed |= !place.child("ObjectSizeLessThan").empty();
  }
  return out;
}

// What a rule of Google's asks of an object of stoker's.
struct GcsCondition {
  bool live = true;       // an object that is no old version may meet it
  bool old = true;        // every old version meets it in the end
  bool narrowed = false;  // by more than days and prefixes
  std::optional<double> age, noncurrent;
  std::string before;  // a date

  void Add(const std::string& name, const Json& value);
  std::string When() const {
    std::string text;
    if (age) text = fmt::format(", {:g} days after it was written", *age);
    if (!before.empty()) text += ", written before " + Printable(before);
    return text;
  }
};

void GcsCondition::Add(const std::string& name, const Json& value) {
  if (name == "matchesPrefix") return;
  if (name == "isLive") {
    (value == true ? old : live) = false;
  } else if (name == "age" && value.is_number()) {
    age = value.get<double>();
  } else if (name == "createdBefore" && value.is_string()) {
    before = value.get<std::string>();
    old = false;
  } else if (name == "daysSinceNoncurrentTime" && value.is_number()) {
    noncurrent = value.get<double>();
    live = false;
  } else if (name == "noncurrentTimeBefore") {
    live = old = false;
  } else if (name == "customTimeBefore" || name == "daysSinceCustomTime") {
    live = old = false;  // stoker sets no such time
  } else if (name == "numNewerVersions") {
    const bool newer = value.is_number() && value > 0;  // what is live has none that are newer
    live = live && !newer;
    old = old && !newer;  // the newest of the old ones stay
  } else {
    narrowed = true;
  }
}

// The prefixes of a rule; one of "" where it names none.
std::vector<std::string> StartsOf(const Json& condition) {
  std::vector<std::string> out;
  const auto starts = condition.find("matchesPrefix");
  if (starts != condition.end() && starts->is_array()) {
    for (const Json& start : *starts) {
      if (start.is_string()) out.push_back(start.get<std::string>());
    }
  }
  if (out.empty()) out.emplace_back();
  return out;
}

}  // namespace

Lifecycle ReadS3Lifecycle(const pugi::xml_node& configuration, const std::string& prefix) {
  Lifecycle out;
  for (const pugi::xml_node& rule : configuration.children("Rule")) {
    if (std::string_view(rule.child_value("Status")) != "Enabled") continue;
    const S3Filter filter = FilterOf(rule);
    const Reach reach = ReachOf(filter.start, prefix);
    if (reach == Reach::kNone || filter.tagged) continue;  // nothing of stoker's has tags
    const pugi::xml_node expiration = rule.child("Expiration");
    const std::string which = Which(reach, filter.start, filter.narrowed);
    if (const auto days = expiration.child("Days")) {
      out.deletes.push_back(which + ", " + Printable(days.text().as_string()) +
                            " days after it was written");
    }
    if (const auto date = expiration.child("Date")) {
      out.deletes.push_back(which + ", from " + Printable(date.text().as_string()) + " on");
    }
    if (reach != Reach::kAll || filter.narrowed) continue;
    out.aborts |= !rule.child("AbortIncompleteMultipartUpload").empty();
    const pugi::xml_node versions = rule.child("NoncurrentVersionExpiration");
    const auto days = WholeNumber(versions.child_value("NoncurrentDays"), 1, kMostDays);
    // Where the newest of the old ones stay, what is deleted stays.
    const std::string_view stay = versions.child_value("NewerNoncurrentVersions");
    if (days && (stay.empty() || WholeNumber(stay, 0, 0))) {
      Clear(static_cast<double>(*days), &out);
    }
  }
  return out;
}

Lifecycle ReadGcsLifecycle(const Json& lifecycle, const std::string& prefix) {
  Lifecycle out;
  const auto rules = lifecycle.is_object() ? lifecycle.find("rule") : lifecycle.end();
  if (!lifecycle.is_object() || rules == lifecycle.end() || !rules->is_array()) return out;
  for (const Json& rule : *rules) {
    const Json nothing = Json::object();
    if (!rule.is_object() || !rule.value("action", nothing).is_object()) continue;
    const Json type = rule.value("action", nothing).value("type", Json());
    const Json json = rule.value("condition", nothing);
    if (type != "Delete" || !json.is_object()) continue;
    GcsCondition condition;
    for (const auto& [name, value] : json.items()) condition.Add(name, value);
    const bool clears = condition.old && !condition.narrowed && condition.before.empty() &&
                        (condition.age || condition.noncurrent);
    for (const std::string& start : StartsOf(json)) {
      const Reach reach = ReachOf(start, prefix);
      if (reach == Reach::kNone) continue;
      if (condition.live) {
        out.deletes.push_back(Which(reach, start, condition.narrowed) + condition.When());
      }
      if (clears && reach == Reach::kAll) {
        Clear(std::max(condition.age.value_or(0), condition.noncurrent.value_or(0)), &out);
      }
    }
  }
  return out;
}

}  // namespace stoker

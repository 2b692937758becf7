// SPDX-License-Identifier: Apache-2.0
#include "ledger/places.h"

#include <algorithm>

#include "base/json_fields.h"
#include "base/text.h"
#include "ledger/paths.h"
#include "ledger/scan.h"

namespace stoker {
namespace {

constexpr int kDrillFormat = 1;
constexpr int64_t kMostDrill = 4096;
constexpr Duration kLongestLead = Duration::Hours(24);

}  // namespace

Status NotePlace(ObjectStore& store, const std::string& provider, const std::string& region) {
  if (!IsSafeName(provider) || !IsSafeName(region)) {
    return Status(Code::kInvalid, "not a region: " + Printable(region));
  }
  return store.Put(paths::NotedPlace(provider, region), "").status();
}

Result<std::vector<std::string>> NotedPlaces(ObjectStore& store, const std::string& provider,
                                             WallTime* now) {
  const std::string prefix = paths::NotedPlaces(provider);
  STOKER_ASSIGN(const std::vector<Listed> listed, ListBelow(store, prefix, now));
  std::vector<std::string> regions;
  for (const Listed& found : listed) {
    const std::string name = found.object.key.substr(prefix.size());
    if (IsSafeName(name)) regions.push_back(name);
  }
  std::sort(regions.begin(), regions.end());
  return regions;
}

Status AskDrill(ObjectStore& store, const std::string& job, const std::string& instance_id,
                Duration lead) {
  if (!IsSafeName(job) || !IsSafeName(instance_id)) {
    return Status(Code::kInvalid, "not a machine of a job: " + Printable(instance_id));
  }
  json::Value drill = {{"format", kDrillFormat}, {"lead_ms", lead.ms}};
  return store.Put(paths::Drill(job, instance_id), json::Dump(drill) + "\n").status();
}

Result<std::optional<Duration>> ReadDrill(ObjectStore& store, const std::string& job,
                                          const std::string& instance_id) {
  const std::string key = paths::Drill(job, instance_id);
  const auto text = store.Get(key);
  if (text.status().Is(Code::kNotFound)) return std::optional<Duration>();
  if (!text.ok()) return text.status();
  STOKER_ASSIGN(const json::Value object, json::ParseObject(key, text->data, kMostDrill));
  STOKER_TRY(json::CheckFormat(key, object, kDrillFormat));
  json::JsonIn in(object, key + ": ");
  Duration lead;
  in.Need("lead_ms", lead);
  in.Check(lead.ms >= 0 && lead <= kLongestLead, "lead_ms", "is out of range");
  STOKER_TRY(in.status());
  return std::optional(lead);
}

}  // namespace stoker

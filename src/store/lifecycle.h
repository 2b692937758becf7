// SPDX-License-Identifier: Apache-2.0
// What the lifecycle rules of a bucket do to what stoker keeps there; inside store/ only. Pure.
// Sources: "LifecycleRule" (S3 API reference); "Object Lifecycle Management" (Cloud Storage).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace pugi {
class xml_node;
}  // namespace pugi

namespace stoker {

struct Lifecycle {
  // What rules delete that is not old versions, for people: "everything below 'a/', 30 days after
  // it was written".
  std::vector<std::string> deletes;
  // A rule ends unfinished uploads, in the whole store.
  bool aborts = false;
  // Days after which all that was overwritten or deleted is cleared away, in the whole store.
  std::optional<double> clears_versions;
};

// Of the rules that are on and touch keys below `prefix` ("team/a"; "" = all of the bucket).
// Conditions that nothing of stoker's meets, as tags, count as such; others that narrow a rule
// make it one for a part.
Lifecycle ReadS3Lifecycle(const pugi::xml_node& configuration, const std::string& prefix);
Lifecycle ReadGcsLifecycle(const nlohmann::json& lifecycle, const std::string& prefix);

}  // namespace stoker

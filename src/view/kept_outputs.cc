// SPDX-License-Identifier: Apache-2.0
#include "view/kept_outputs.h"

#include "base/json.h"
#include "base/profiles.h"
#include "base/text.h"
#include "outputs/output_list.h"

namespace stoker {

KeptOutputs ReadKeptOutputs(ObjectStore& store, const std::string& job) {
  const auto outputs = ListOutputs(store, job);
  KeptOutputs kept;
  if (!outputs.ok()) return kept;
  kept.known = true;
  for (const OutputInfo& output : *outputs) {
    ++kept.files;
    kept.bytes += output.file.size;
    if (IsProfile(output.path)) ++kept.profiles;
  }
  return kept;
}

std::string KeptText(const KeptOutputs& kept, const std::string& job) {
  if (!kept.known) return "not known: the list of outputs cannot be read; stoker get " + job;
  if (kept.files == 0) return "no files";
  return std::to_string(kept.files) + (kept.files == 1 ? " file, " : " files, ") +
         HumanSize(kept.bytes) + ": stoker get " + job +
         (kept.profiles == 0 ? ""
                             : "; " + std::to_string(kept.profiles) +
                                   " of a profiler: stoker get " + job + " profile");
}

nlohmann::json KeptJson(const KeptOutputs& kept) {
  if (!kept.known) return nullptr;
  return {{"files", kept.files}, {"bytes", kept.bytes}, {"profiles", kept.profiles}};
}

}  // namespace stoker

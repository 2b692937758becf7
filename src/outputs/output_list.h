// SPDX-License-Identifier: Apache-2.0
// What a job has kept of its outputs, and how it comes out of the store.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/status.h"
#include "checkpoint/manifest.h"
#include "outputs/output_names.h"
#include "port/checkpoint_files.h"
#include "port/object_store.h"
#include "transfer/transfer.h"

namespace stoker {

struct OutputInfo {
  std::string path;  // below artifacts/
  int attempt = 0;
  int rank = 0;
  ManifestFile file;
  std::string key;  // in the store; "" = it was replaced, and is not kept any more
  // An earlier attempt had kept another file of this path, which is no more.
  bool replaces_earlier = false;
  // As in the work directory of its node.
  std::string file_path() const { return path.substr(ArtifactPath(rank, "").size()); }
};

// Whether "get JOB WHAT" means it: `what`, one or more whole parts of a path, stands anywhere in
// its path ("best" and "out/best" in "out/best/v"); with a slash at its end only as the name of a
// folder. No character is special. "" means all.
bool IsMeant(const OutputInfo& output, const std::string& what);

// All outputs of a job: of each path what the newest attempt wrote, or what `attempt` did, where
// one is given. Ordered by path.
Result<std::vector<OutputInfo>> ListOutputs(ObjectStore& store, const std::string& job,
                                            int attempt = 0);

struct Downloaded {
  int64_t files = 0;
  int64_t bytes = 0;
};
// `what` as IsMeant.
// Every byte's hash is checked; kCorrupt names the file. kNotFound names what there is. A file that
// is replaced in the store meanwhile is read again. `may` is asked of each before it is fetched,
// and once more after such a replacement; false leaves it out, and it is counted nevertheless, as
// is one without a key. `attempt` as ListOutputs.
Result<Downloaded> DownloadOutputs(ObjectStore& store, const std::string& job,
                                   const std::string& what, DirectoryWriter& into,
                                   const Movers& movers = {},
                                   const std::function<Result<bool>(const OutputInfo&)>& may = {},
                                   int attempt = 0);

}  // namespace stoker

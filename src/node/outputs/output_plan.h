// SPDX-License-Identifier: Apache-2.0
// Which files of one attempt's work directory are outputs, and from when on they are kept.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "node/outputs/produced_files.h"
#include "node/outputs/stray_saves.h"
#include "outputs/output_pattern.h"
#include "spec/job_spec.h"
#include "sys/watch/directory_scan.h"

namespace stoker::node {

// One listing: of a folder of the work directory ("" = itself), of one entry in it or of all.
struct OutputPlace {
  std::string folder;
  std::string only;
  TreeFilter filter;
};

// Begin, Remember and AtEnd come from one thread, one after the other; it must outlive what uses
// its filters.
class OutputPlan {
 public:
  // `downloads` as Job's.
  OutputPlan(const JobSpec& spec, std::string workdir, int rank, const std::string& downloads = "");

  // When the work directory is unpacked: what lies in the folders that variables name is the user's
  // code, and no output.
  Status Begin();
  // When all is set up and those folders are there, before the program starts.
  Status Remember();
  // Kept while the program runs and at its end: what `outputs` names, and the folders of
  // $STOKER_OUTPUT_DIR and $STOKER_MODEL_DIR.
  std::vector<OutputPlace> WhileRunning() const;
  // Kept once the program has ended: what it made and nobody declared. nullopt: nothing.
  std::optional<OutputPlace> AtEnd(const std::function<bool()>& out_of_time);
  // While it runs; not at the same time as AtEnd.
  StraySaves& stray() { return stray_; }
  // After AtEnd, what the program made and is not kept: a sentence each.
  const std::vector<std::string>& left_out() const { return left_out_; }

  // Paths of the work directory that are not outputs though they lie in one.
  std::vector<std::string> Apart() const;
  // The entries of `outputs` for which `kept` knows no file.
  std::vector<std::string> Missing(
      const std::function<bool(const OutputPattern& pattern)>& kept) const;

 private:
  bool IsNamedFolder(const std::string& path) const;
  bool IsKept(const std::string& path) const;
  bool IsStrayProfile(const FileFact& fact) const;
  static bool MayHoldProfiles(const std::string& path);

  const JobSpec& spec_;
  const std::string workdir_;
  std::vector<OutputPattern> patterns_;
  std::vector<std::string> named_;  // the folders of variables that are kept
  TreeMemory code_;                 // what is in those, and traces elsewhere
  std::unique_ptr<ProducedFiles> made_;
  StraySaves stray_;
  std::vector<std::string> left_out_;
};

}  // namespace stoker::node

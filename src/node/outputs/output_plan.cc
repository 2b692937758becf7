// SPDX-License-Identifier: Apache-2.0
#include "node/outputs/output_plan.h"

#include <algorithm>
#include <set>

#include "base/profiles.h"
#include "base/text.h"
#include "contract/environment.h"
#include "sys/file.h"

namespace stoker::node {
namespace {

std::string Name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

bool Within(const std::string& path, const std::string& folder) {
  return path == folder || StartsWith(path, folder + "/");
}

}  // namespace

OutputPlan::OutputPlan(const JobSpec& spec, std::string workdir, int rank,
                       const std::string& downloads)
    : spec_(spec), workdir_(std::move(workdir)), stray_(workdir_, [this](const std::string& path) {
        return IsKept(path) || !MayHoldProfiles(path) || StartsWith(Name(path), ".");
      }) {
  for (const OutputSpec& output : spec.outputs) patterns_.emplace_back(output);
  ProducedBounds bounds;
  bounds.bytes = spec.limits.kept_size.value_or(bounds.bytes);
  bounds.files = spec.limits.kept_files.value_or(bounds.files);
  if (spec.outputs_given || bounds.bytes == 0 || bounds.files == 0) return;
  std::vector<std::string> apart = Apart();
  apart.insert(apart.end(), {contract::kOutputFolder, contract::kModelFolder});
  made_ = std::make_unique<ProducedFiles>(
      ProducedFilesConfig{workdir_, apart, bounds, rank == 0, downloads});
}

std::vector<std::string> OutputPlan::Apart() const {
  const std::string& path = spec_.checkpoints.path;
  if (path.empty() || path[0] != '/') return {path};
  if (!StartsWith(path, workdir_ + "/")) return {};
  return {path.substr(workdir_.size() + 1)};
}

// By anybody: as a checkpoint, or while the program runs.
bool OutputPlan::IsKept(const std::string& path) const {
  const std::vector<std::string> apart = Apart();
  return IsNamedFolder(path) ||
         std::any_of(apart.begin(), apart.end(),
                     [&](const std::string& folder) { return Within(path, folder); }) ||
         std::any_of(patterns_.begin(), patterns_.end(),
                     [&](const OutputPattern& pattern) { return pattern.Matches(path); });
}

bool OutputPlan::IsNamedFolder(const std::string& path) const {
  return std::any_of(named_.begin(), named_.end(),
                     [&](const std::string& folder) { return Within(path, folder); });
}

// A profiler's trace that the program makes is kept although no output names it, where others do.
bool OutputPlan::IsStrayProfile(const FileFact& fact) const {
  if (spec_.outputs.empty() || fact.kind != FileKind::kFile || !IsProfile(fact.path)) return false;
  return !IsKept(fact.path);
}

// A walk through the whole work directory: not through what package managers fill.
bool OutputPlan::MayHoldProfiles(const std::string& path) {
  static const std::set<std::string> kNot = {".git",          "node_modules", "__pycache__",
                                             "site-packages", ".venv",        "venv"};
  return !kNot.contains(Name(path));
}

Status OutputPlan::Begin() {
  named_.clear();
  code_ = {};
  for (const char* folder : {contract::kOutputFolder, contract::kModelFolder}) {
    const auto covers = [&](const std::string& other) { return Within(folder, other); };
    const std::vector<std::string> apart = Apart();
    const bool kept_anyway =
        std::any_of(spec_.outputs.begin(), spec_.outputs.end(),
                    [&](const OutputSpec& output) { return covers(output.path); });
    if (kept_anyway || std::any_of(apart.begin(), apart.end(), covers)) continue;
    named_.emplace_back(folder);
  }
  TreeFilter filter;
  filter.enter = [this](const std::string& path) {
    return IsNamedFolder(path) || (!spec_.outputs.empty() && MayHoldProfiles(path));
  };
  filter.named = [this](const std::string& path) {
    return IsNamedFolder(path) || (!spec_.outputs.empty() && IsProfile(path));
  };
  filter.wanted = [this](const FileFact& fact) {
    if (IsNamedFolder(fact.path) || IsStrayProfile(fact)) code_.Add(fact);
    return false;
  };
  filter.closed = [](const std::string&, const Status&) {};
  const Status walked = WalkTree(workdir_, filter);
  code_.Seal();
  return walked;
}

Status OutputPlan::Remember() {
  std::erase_if(named_, [this](const std::string& folder) {
    return !sys::DirExists(workdir_ + "/" + folder);  // a file is in the way
  });
  return made_ ? made_->Remember() : Status::Ok();
}

std::vector<OutputPlace> OutputPlan::WhileRunning() const {
  std::vector<OutputPlace> places;
  for (size_t i = 0; i < patterns_.size(); ++i) {
    const OutputPattern& pattern = patterns_[i];
    OutputPlace place;
    place.folder = pattern.folder();
    if (!spec_.outputs[i].IsPattern()) {
      place.only = pattern.text().substr(place.folder.empty() ? 0 : place.folder.size() + 1);
    } else {
      const std::string above = place.folder.empty() ? "" : place.folder + "/";
      place.filter.enter = [&pattern, above](const std::string& path) {
        return pattern.MayHold(above + path);
      };
      place.filter.wanted = [&pattern, above](const FileFact& fact) {
        return pattern.Matches(above + fact.path);
      };
    }
    places.push_back(std::move(place));
  }
  for (const std::string& folder : named_) {
    OutputPlace place;
    place.only = folder;
    // The folder itself was made for the program: empty, it is nothing that came of it.
    place.filter.wanted = [this, folder](const FileFact& fact) {
      const bool itself = fact.path == folder && fact.kind == FileKind::kDirectory;
      return !itself && !code_.Has(fact);
    };
    places.push_back(std::move(place));
  }
  if (!spec_.outputs.empty()) {
    OutputPlace place;
    place.filter.enter = MayHoldProfiles;
    place.filter.wanted = [this](const FileFact& fact) {
      return IsStrayProfile(fact) && !code_.Has(fact);
    };
    places.push_back(std::move(place));
  }
  return places;
}

std::optional<OutputPlace> OutputPlan::AtEnd(const std::function<bool()>& out_of_time) {
  if (!made_) return std::nullopt;
  const Status chosen = made_->Choose(out_of_time);
  left_out_ = made_->left_out();
  if (!chosen.ok()) {
    left_out_ = {"what the program made and no 'outputs' name is not kept: " + chosen.message()};
    return std::nullopt;
  }
  if (made_->chosen() == 0) return std::nullopt;
  return OutputPlace{"", "", made_->Chosen()};
}

std::vector<std::string> OutputPlan::Missing(
    const std::function<bool(const OutputPattern& pattern)>& kept) const {
  std::vector<std::string> missing;
  for (const OutputPattern& pattern : patterns_) {
    if (!kept(pattern)) missing.push_back(pattern.text());
  }
  return missing;
}

}  // namespace stoker::node

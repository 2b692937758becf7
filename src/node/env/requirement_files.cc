// SPDX-License-Identifier: Apache-2.0
#include "node/env/requirement_files.h"

#include <algorithm>
#include <map>

#include "base/text.h"
#include "spec/text/git/git_requirements.h"
#include "sys/file.h"

namespace stoker::node {
namespace {

constexpr size_t kMostFiles = 50;
constexpr int64_t kMostBytes = 1 << 20;

// `file` as the file `from` names it; "" where it does not lie in the work directory.
std::string NameBelow(const std::string& from, const std::string& file) {
  if (file.empty() || file[0] == '/') return "";
  std::vector<std::string> parts = Split(from, '/');
  parts.pop_back();
  for (const std::string& part : Split(file, '/')) {
    if (part.empty() || part == ".") continue;
    if (part != "..") {
      parts.push_back(part);
    } else if (parts.empty()) {
      return "";
    } else {
      parts.pop_back();
    }
  }
  return Join(parts, "/");
}

std::string Stays(const std::string&) { return ""; }

}  // namespace

std::vector<RequirementFile> ReadRequirementFiles(const std::string& workdir) {
  std::vector<RequirementFile> files;
  std::vector<std::string> names = {"requirements.txt"};
  for (size_t i = 0; i < names.size() && files.size() < kMostFiles; ++i) {
    auto text = sys::ReadFile(workdir + "/" + names[i], kMostBytes);
    if (!text.ok()) continue;
    for (const std::string& other : IncludedRequirements(*text)) {
      const std::string name = NameBelow(names[i], other);
      if (!name.empty() && std::find(names.begin(), names.end(), name) == names.end()) {
        names.push_back(name);
      }
    }
    files.push_back({names[i], std::move(*text)});
  }
  return files;
}

Result<std::string> WritePinnedFiles(const std::string& workdir, const std::vector<Pin>& pins,
                                     const std::string& folder, const VariableSource& variable,
                                     std::vector<AddressLogin>* logins) {
  std::map<std::string, std::string> commits;
  for (const Pin& pin : pins) commits[pin.source] = pin.commit;
  std::vector<RequirementFile> files = ReadRequirementFiles(workdir);
  for (RequirementFile& file : files) {
    file.text = TakeLogins(PinnedRequirements(file.text, commits, Stays), variable, logins);
  }
  if (pins.empty() && logins->empty()) return workdir + "/requirements.txt";
  STOKER_TRY(sys::RemoveTree(folder));
  STOKER_TRY(sys::MakeDirs(folder, 0700));
  std::map<std::string, std::string> places;
  for (const RequirementFile& file : files) {
    places[file.name] = folder + "/" + std::to_string(places.size()) + ".txt";
  }
  for (const RequirementFile& file : files) {
    const auto place = [&](const std::string& other) {
      const std::string name = NameBelow(file.name, other);
      if (const auto known = places.find(name); known != places.end()) return known->second;
      const std::string full = workdir + "/" + name;
      return name.empty() || !sys::FileExists(full) ? "" : full;
    };
    STOKER_TRY(sys::WriteFileAtomic(places[file.name], PinnedRequirements(file.text, {}, place),
                                    0600, false));
  }
  return places["requirements.txt"];
}

}  // namespace stoker::node

// SPDX-License-Identifier: Apache-2.0
#include "client/unsaved_here.h"

#include <algorithm>

#include "base/text.h"
#include "base/utf8.h"
#include "node/outputs/unsaved.h"
#include "sys/file.h"

namespace stoker::client {

std::vector<std::string> UnsavedHere(const std::string& state, const std::string& job) {
  std::vector<std::string> folders;
  const std::string folder = state + "/" + node::kUnsaved;
  const auto entries = sys::ListDir(folder);
  if (!entries.ok()) return folders;
  for (const sys::DirEntry& entry : *entries) {
    if (StartsWith(entry.name, job + "-")) folders.push_back(folder + "/" + entry.name);
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

std::string UnsavedText(const Job& job, const std::vector<std::string>& folders) {
  std::string text;
  for (const std::string& folder : folders) {
    const bool named = std::any_of(job.attempts.begin(), job.attempts.end(),
                                   [&](const Attempt& one) { return one.unkept_in == folder; });
    if (named) continue;
    text += "  not kept    files that were not saved lie in " + Printable(folder) +
            "; 'stoker gc' removes what is 30 days old there\n";
  }
  return text;
}

}  // namespace stoker::client

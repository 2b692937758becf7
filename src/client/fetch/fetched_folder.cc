// SPDX-License-Identifier: Apache-2.0
#include "client/fetch/fetched_folder.h"

#include "base/text.h"
#include "ledger/records.h"
#include "pack/exclusions.h"
#include "spec/parse.h"
#include "sys/file.h"

namespace stoker::client {
namespace {

constexpr char kIgnoreFile[] = ".stokerignore";

}  // namespace

void LeaveUnpacked(const std::string& folder) {
  const std::string file = folder + "/" + kIgnoreFile;
  if (!sys::FileExists(file)) (void)sys::WriteFileAtomic(file, pack::kFetchedFolder, 0644, false);
}

void SayIfPacked(Client& client, const std::string& job, const std::string& folder) {
  const auto ledger = client.ledger();
  const auto read = ledger.ok() ? ReadJob(**ledger, job) : Result<JobRead>(ledger.status());
  const auto text = read.ok() ? ReadSpec(**ledger, read->job) : Result<std::string>(read.status());
  const auto spec = text.ok() ? ParseStoredSpec(*text) : Result<JobSpec>(text.status());
  if (!spec.ok() || spec->workdir.empty() || !StartsWith(folder, spec->workdir + "/")) return;
  const auto ignored = sys::ReadFile(folder + "/" + kIgnoreFile, 1 << 16);
  if (ignored.ok() && *ignored == pack::kFetchedFolder) return;
  client.Say(
      "that is in the job's work directory, and the next job packs it too, unless an "
      "ignore file names it: add " +
      Printable(folder.substr(spec->workdir.size())) + "/ to .stokerignore");
}

}  // namespace stoker::client

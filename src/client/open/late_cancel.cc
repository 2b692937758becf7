// SPDX-License-Identifier: Apache-2.0
#include "client/open/late_cancel.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/text.h"
#include "ledger/records.h"
#include "sys/file.h"

namespace stoker::client {
namespace {

std::string Folder(const Client& client) { return client.places().state + "/cancelled"; }

std::string Prefix(const Ledger& ledger) { return ledger.id() + "."; }

}  // namespace

void PrepareLateCancels(const Client& client) { (void)sys::MakeDirs(Folder(client), 0700); }

bool RememberCancel(const Client& client, const Ledger& ledger, const std::string& job) {
  (void)sys::MakeDirs(Folder(client), 0700);
  const std::string path = Folder(client) + "/" + Prefix(ledger) + job;
  return sys::Open(path, O_WRONLY | O_CREAT, 0600).ok();
}

void WriteLateCancels(Client& client, Ledger& ledger) {
  const auto entries = sys::ListDir(Folder(client));
  for (const auto& entry : entries.ok() ? *entries : std::vector<sys::DirEntry>()) {
    if (!StartsWith(entry.name, Prefix(ledger))) continue;
    const std::string job = entry.name.substr(Prefix(ledger).size());
    const auto written = CancelInRecord(ledger, job, client.user());
    if (!written.ok() && !written.status().Is(Code::kNotFound)) continue;
    (void)::unlink((Folder(client) + "/" + entry.name).c_str());
    if (written.ok() && !IsFinal(written->job.state)) {
      client.Say("job " + job + " is cancelled, as was asked for when the disk was full");
    }
  }
}

}  // namespace stoker::client

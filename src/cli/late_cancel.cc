// SPDX-License-Identifier: Apache-2.0
#include "cli/late_cancel.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/text.h"
#include "ledger/records.h"
#include "sys/file.h"

namespace stoker::cli {
namespace {

std::string Folder(const Context& context) { return context.places().state + "/cancelled"; }

std::string Prefix(const Ledger& ledger) { return ledger.id() + "."; }

}  // namespace

void PrepareLateCancels(const Context& context) { (void)sys::MakeDirs(Folder(context), 0700); }

bool RememberCancel(const Context& context, const Ledger& ledger, const std::string& job) {
  (void)sys::MakeDirs(Folder(context), 0700);
  const std::string path = Folder(context) + "/" + Prefix(ledger) + job;
  return sys::Open(path, O_WRONLY | O_CREAT, 0600).ok();
}

void WriteLateCancels(Context& context, Ledger& ledger) {
  const auto entries = sys::ListDir(Folder(context));
  for (const auto& entry : entries.ok() ? *entries : std::vector<sys::DirEntry>()) {
    if (!StartsWith(entry.name, Prefix(ledger))) continue;
    const std::string job = entry.name.substr(Prefix(ledger).size());
    const auto written = CancelInRecord(ledger, job, context.user());
    if (!written.ok() && !written.status().Is(Code::kNotFound)) continue;
    (void)::unlink((Folder(context) + "/" + entry.name).c_str());
    if (written.ok() && !IsFinal(written->job.state)) {
      context.Say("job " + job + " is cancelled, as was asked for when the disk was full");
    }
  }
}

}  // namespace stoker::cli

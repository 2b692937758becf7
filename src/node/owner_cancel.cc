// SPDX-License-Identifier: Apache-2.0
#include "node/owner_cancel.h"

#include "ledger/records.h"
#include "spec/text/infra.h"

namespace stoker::node {

Status CancelByOwner(Ledger& ledger, const NodeIdentity& me, std::string by) {
  STOKER_ASSIGN(const JobRead asked, ReadJob(ledger, me.request.job));
  if (by.empty())
    by = "who ended " + me.instance_id + " at " + InfraWordOf(me.request.ask.place.provider);
  return MutateJob(ledger, me.request.job,
                   [&](Job& record) -> Result<bool> {
                     const Launch* const launch = FindLaunch(record, me.launch);
                     const bool open = launch != nullptr && !launch->closed;
                     if (!open || IsFinal(record.state) || record.cancel) return false;
                     record.cancel = CancelRequest{asked.store_now, by};
                     return true;
                   })
      .status();
}

}  // namespace stoker::node

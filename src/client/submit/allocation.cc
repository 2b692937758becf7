// SPDX-License-Identifier: Apache-2.0
#include "client/submit/allocation.h"

#include <string>

#include "job/request.h"
#include "provider/registry.h"

namespace stoker::client {

void TieToAllocation(Client& client, const TieWish& wish, std::vector<Offer>* offers) {
  std::optional<AllocationHere> inside;
  AllocationTie tie;
  for (const Allocations* of : AllAllocations()) {
    if (inside || !(inside = of->Here())) continue;
    tie = {inside->job, wish.outlive, of};
  }
  bool tied = false;
  for (Offer& offer : *offers) {
    if (!inside || offer.ask.place.provider != kLocalProvider) continue;
    std::string& options = offer.ask.options;
    options += (options.empty() ? "" : " ") + tie.of->Encode(tie);
    tied = true;
  }
  if (!tied) {
    if (wish.outlive)
      client.Say(
          "--outlive means nothing here: it is for a job on this machine that is "
          "submitted, or moved here, inside an allocation of a cluster");
    return;
  }
  const std::string name = tie.of->Name(tie.job);
  client.Say("inside " + name + ": when that ends, the job saves what it has, " +
             (wish.outlive ? "and goes on where somebody next looks (stoker ls, show, controller)"
                           : "and is cancelled with it (--outlive lets it go on elsewhere)"));
  if (!inside->dies_first.empty()) {
    client.Say("its script ends at once when " + name + " is ended (" + inside->dies_first +
               " does not wait at SIGTERM), and the job may be killed before it has saved: " +
               (wish.may_stay ? "begin its last line with 'exec stoker run', or write 'trap : "
                                "TERM' before it"
                              : "let it catch TERM and wait meanwhile"));
  }
}

std::optional<AllocationTie> TieOf(const Job& job) {
  for (const Offer& offer : OffersNow(job)) {
    if (offer.ask.place.provider != kLocalProvider) continue;
    for (const Allocations* of : AllAllocations()) {
      if (const auto tie = of->Parse(offer.ask.options)) return tie;
    }
  }
  return std::nullopt;
}

}  // namespace stoker::client

// SPDX-License-Identifier: Apache-2.0
#include "client/submit/allocation.h"

#include "job/request.h"

namespace stoker::client {
namespace {

constexpr Duration kTieAskLimit = Duration::Seconds(5);

}  // namespace

void TieToAllocation(Client& client, const TieWish& wish, std::vector<Offer>* offers) {
  const auto inside = SlurmInsideHere();
  bool tied = false;
  for (Offer& offer : *offers) {
    if (!inside || offer.ask.place.provider != kLocalProvider) continue;
    std::string& options = offer.ask.options;
    options += (options.empty() ? "" : " ") + EncodeTie({inside->job, wish.outlive});
    tied = true;
  }
  if (!tied) {
    if (wish.outlive)
      client.Say(
          "--outlive means nothing here: it is for a job on this machine that is "
          "submitted, or moved here, inside an allocation of Slurm");
    return;
  }
  const std::string number = std::to_string(inside->job);
  client.Say("inside Slurm's job " + number + ": when that ends, the job saves what it has, " +
             (wish.outlive ? "and goes on where somebody next looks (stoker ls, show, controller)"
                           : "and is cancelled with it (--outlive lets it go on elsewhere)"));
  if (!inside->dies_first.empty()) {
    client.Say("its script ends at once when Slurm ends job " + number + " (" + inside->dies_first +
               " does not wait at SIGTERM), and Slurm may kill the job before it has saved: " +
               (wish.may_stay ? "begin its last line with 'exec stoker run', or write 'trap : "
                                "TERM' before it"
                              : "let it catch TERM and wait meanwhile"));
  }
}

std::optional<SlurmTie> TieOf(const Job& job) {
  for (const Offer& offer : OffersNow(job)) {
    if (offer.ask.place.provider != kLocalProvider) continue;
    if (const auto tie = ParseTie(offer.ask.options)) return tie;
  }
  return std::nullopt;
}

bool IsEnding(Clock& clock, const SlurmTie& tie) {
  SlurmTools tools("");
  const auto seen = AskAllocation(tools, tie.job, clock.Wall(), kTieAskLimit);
  return seen.ok() && seen->state != AllocationState::kRuns;
}

}  // namespace stoker::client

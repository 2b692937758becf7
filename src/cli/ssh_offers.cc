// SPDX-License-Identifier: Apache-2.0
#include "cli/ssh_offers.h"

#include <utility>

#include "base/text.h"
#include "policy/local_queue.h"
#include "provider/ssh/ssh_provider.h"
#include "spec/choices.h"
#include "sys/file.h"

namespace stoker::cli {
namespace {

using Prospect = std::pair<std::string, Result<BoxProspect>>;

std::string WhyNot(const Prospect& each) {
  if (!each.second.ok()) return each.second.status().ToString();
  const BoxProspect& prospect = *each.second;
  return each.first + ": " + (prospect.never.empty() ? prospect.store : prospect.never);
}

bool Fits(const Prospect& each) {
  return each.second.ok() && each.second->never.empty() && each.second->store.empty();
}

// A folder may lie on a network file system: tried once with each box, before the first job.
Status CheckFolder(Context& context, SshProvider& ssh, const std::string& box) {
  STOKER_ASSIGN(Ledger * ledger, context.ledger());
  if (!StartsWith(ledger->store().url(), "/")) return Status::Ok();
  const std::string folder = context.places().state + "/met";
  const std::string mark = folder + "/" + ledger->id() + "-" + box;
  if (sys::FileExists(mark)) return Status::Ok();
  STOKER_TRY(ssh.Meet(box, ledger->id(), "probe/" + ledger->Nonce()));
  STOKER_TRY(sys::MakeDirs(folder, 0700));
  return sys::WriteFileAtomic(mark, "", 0600, false);
}

}  // namespace

Result<std::vector<Offer>> ResolveSshOffers(Context& context, const JobSpec& spec,
                                            const std::string& pool, WallTime submitted,
                                            bool has_private) {
  STOKER_ASSIGN(SshProvider * ssh, context.ssh_provider());
  STOKER_ASSIGN(Ledger * ledger, context.ledger());
  // Each node is a machine by itself, and asks for its own part alone.
  JobSpec one = spec;
  one.num_nodes = 1;
  Offer offer;
  offer.ask.place = {kSshProvider, pool, "", ""};
  offer.ask.options = EncodeWants(WantsOf(one, submitted));
  if (has_private) offer.ask.options += std::string(" ") + kHasPrivate;

  LaunchRequest request;
  request.ledger_id = ledger->id();
  request.store_url = ledger->store().url();
  request.ask = offer.ask;
  STOKER_ASSIGN(const std::vector<Prospect> prospects, ssh->Prospects(request));
  std::vector<std::string> against;
  bool silent = false;
  int room = 0;
  for (const Prospect& each : prospects) {
    if (Fits(each)) {
      room += each.second->room;
      STOKER_TRY(CheckFolder(context, *ssh, each.first));
    } else {
      against.push_back(WhyNot(each));
      silent |= !each.second.ok();
    }
  }
  if (against.size() == prospects.size()) {
    return Status(silent ? Code::kUnavailable : Code::kInvalid,
                  "no box of the pool " + pool + " can run the job: " + Join(against, "; "),
                  "'stoker doctor --infra ssh/" + pool + "' looks at each of them");
  }
  if (room < spec.num_nodes) {
    return Status(silent ? Code::kUnavailable : Code::kInvalid,
                  "the pool " + pool + " can run " + std::to_string(room) +
                      " such nodes at once, and the job has " + std::to_string(spec.num_nodes) +
                      (against.empty() ? "" : " (" + Join(against, "; ") + ")"),
                  "A node that does not say how many GPUs it needs has all of its box: "
                  "--gpus N");
  }
  for (const std::string& why : against) context.Say("without " + why);
  return std::vector<Offer>{offer};
}

bool IsOnBoxes(const JobSpec& spec) { return AnyChoiceIs(spec, kSshProvider); }

}  // namespace stoker::cli

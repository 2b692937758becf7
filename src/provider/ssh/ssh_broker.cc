// SPDX-License-Identifier: Apache-2.0
#include "provider/ssh/ssh_broker.h"

#include <unistd.h>

#include <cstdio>
#include <utility>

#include "base/text.h"
#include "policy/local_queue.h"
#include "provider/ssh/box_notes.h"
#include "provider/ssh/ssh_provider.h"
#include "sys/file.h"

namespace stoker {
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

// Used once.
std::string ProbeKey() {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(sys::RandomU64()));
  return std::string("probe/") + text;
}

class SshBroker : public Broker {
 public:
  SshBroker(const ProviderOptions& options, Clock& clock) : options_(options), clock_(clock) {}

  const BrokerTraits& traits() const override { return kSshBroker; }

  Result<Provider*> Machines() override {
    STOKER_ASSIGN(SshProvider * ssh, Boxes());
    return static_cast<Provider*>(ssh);
  }

  Result<std::vector<Offer>> Resolve(const OfferAsk& job) override {
    STOKER_ASSIGN(SshProvider * boxes, Boxes());
    SshProvider& ssh = *boxes;
    // Each node is a machine by itself, and asks for its own part alone.
    JobSpec one = job.spec;
    one.num_nodes = 1;
    Offer offer;
    offer.ask.place = {kSshProvider, job.where, "", ""};
    offer.ask.options = EncodeWants(WantsOf(one, job.submitted));
    if (job.has_private) offer.ask.options += std::string(" ") + kHasPrivate;

    LaunchRequest request;
    request.ledger_id = job.ledger.id;
    request.store_url = job.ledger.store->url();
    request.ask = offer.ask;
    STOKER_ASSIGN(const std::vector<Prospect> prospects, ssh.Prospects(request));
    std::vector<std::string> against;
    bool silent = false;
    int room = 0;
    for (const Prospect& each : prospects) {
      if (Fits(each)) {
        room += each.second->room;
        STOKER_TRY(CheckFolder(job.ledger, ssh, each.first));
      } else {
        against.push_back(WhyNot(each));
        silent |= !each.second.ok();
      }
    }
    if (against.size() == prospects.size()) {
      return Status(silent ? Code::kUnavailable : Code::kInvalid,
                    "no box of the pool " + job.where + " can run the job: " + Join(against, "; "),
                    "'stoker doctor --infra ssh/" + job.where + "' looks at each of them");
    }
    if (room < job.spec.num_nodes) {
      return Status(silent ? Code::kUnavailable : Code::kInvalid,
                    "the pool " + job.where + " can run " + std::to_string(room) +
                        " such nodes at once, and the job has " +
                        std::to_string(job.spec.num_nodes) +
                        (against.empty() ? "" : " (" + Join(against, "; ") + ")"),
                    "A node that does not say how many GPUs it needs has all of its box: "
                    "--gpus N");
    }
    for (const std::string& why : against) options_.say("without " + why);
    return std::vector<Offer>{offer};
  }

  std::vector<std::string> Words() override {
    std::vector<std::string> words;
    for (const auto& [pool, hosts] : options_.settings.pools) {
      words.push_back(std::string(kSshProvider) + "/" + pool);
    }
    return words;
  }

  Result<std::vector<PlaceInfo>> Places() override {
    STOKER_ASSIGN(SshProvider * ssh, Boxes());
    return ssh->Places();
  }

  // Connects to each: whether it answers, has a stoker, has room, and sees this store, of which it
  // also tries what several computers must be able to rely on.
  Result<Findings> Examine(const std::string& pool, const Result<LedgerRef>& ledger) override {
    Findings out;
    const auto add = [&out](const std::string& what, const Status& status,
                            const std::string& good) {
      out.all.push_back({what, status.ok() ? "ok" : "bad", status.ok() ? good : status.ToString()});
    };
    const auto ssh = Boxes();
    const auto boxes = ssh.ok() ? (*ssh)->Ask(pool) : Result<std::vector<BoxSeen>>(ssh.status());
    if (!boxes.ok()) add("pool " + pool, boxes.status(), "");
    for (const BoxSeen& box : boxes.value_or({})) {
      const std::string at = box.hello.address.empty() ? "" : "at " + box.hello.address + ": ";
      add(box.word, box.status, at + box.hello.shared);
      if (!box.status.ok() || !ledger.ok()) continue;
      add(box.word + ", store", (*ssh)->Meet(box.word, ledger->id, ProbeKey()),
          "sees this ledger, and what is written here or there at once");
    }
    if (!ssh.ok()) return out;
    const auto engines = (*ssh)->Engines(pool);
    if (!engines.ok()) return out;  // there is no such pool, which is said
    for (const auto& [word, told] : *engines) {
      if (!told.ok()) {
        out.all.push_back({word + ", containers", "note", told.status().ToString()});
        continue;
      }
      if (told->empty()) continue;
      const std::string text = *told == "none" ? "no engine: a job with a container fails there"
                                               : "by " + Printable(*told);
      out.all.push_back({word + ", containers", *told == "none" ? "note" : "ok", text});
    }
    return out;
  }

  Result<Shell> Enter(const ShellAsk& ask) override {
    Shell shell{{"ssh", "--", ask.instance_id.substr(0, ask.instance_id.rfind('/'))}};
    if (!ask.inside) {
      if (!ask.command.empty()) shell.words.push_back(ask.command);
      return shell;
    }
    const bool terminal = isatty(STDIN_FILENO) != 0;
    STOKER_ASSIGN(SshProvider * ssh, Boxes());
    STOKER_ASSIGN(const std::string words, ssh->Inside(ask.instance_id, ask.command, terminal));
    if (terminal) shell.words.insert(shell.words.begin() + 1, "-t");
    shell.words.push_back(words);
    shell.inside = true;
    return shell;
  }

  // Of the pools in the settings: what a box that was down for long has left there.
  std::vector<LeftOver> ClearOver(bool dry_run) override {
    std::vector<LeftOver> out;
    const auto ssh = options_.settings.pools.empty() ? Result<SshProvider*>(nullptr) : Boxes();
    if (!ssh.ok() || *ssh == nullptr) return out;
    for (auto& [box, swept] : (*ssh)->Sweep(dry_run)) out.push_back({box, std::move(swept)});
    return out;
  }

  void Forget(const LedgerRef& ledger, const std::string& job) override {
    if (const auto ssh = Boxes(); ssh.ok()) (*ssh)->Forget(ledger.id, job);
  }

  Result<int> GiveUp(const LedgerRef& ledger, const std::string& job, const std::string& box,
                     const std::string& by) override {
    return GiveUpBox(*ledger.store, job, box, by);
  }

 private:
  Result<SshProvider*> Boxes() {
    if (!options_.store) return Status(Code::kInvalid, "boxes are not asked from here");
    if (!ssh_) {
      ssh_ = MakeSshProvider({options_.settings.pools, options_.state_dir, "", options_.store},
                             clock_);
    }
    return ssh_.get();
  }

  // A folder may lie on a network file system: tried once with each box, before the first job.
  Status CheckFolder(const LedgerRef& ledger, SshProvider& ssh, const std::string& box) {
    if (!StartsWith(ledger.store->url(), "/")) return Status::Ok();
    const std::string folder = options_.state_dir + "/met";
    const std::string mark = folder + "/" + ledger.id + "-" + box;
    if (sys::FileExists(mark)) return Status::Ok();
    STOKER_TRY(ssh.Meet(box, ledger.id, ProbeKey()));
    STOKER_TRY(sys::MakeDirs(folder, 0700));
    return sys::WriteFileAtomic(mark, "", 0600, false);
  }

  const ProviderOptions options_;
  Clock& clock_;
  std::unique_ptr<SshProvider> ssh_;
};

}  // namespace

std::unique_ptr<Broker> MakeSshBroker(const ProviderOptions& options, Clock& clock) {
  return std::make_unique<SshBroker>(options, clock);
}

}  // namespace stoker

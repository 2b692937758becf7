// SPDX-License-Identifier: Apache-2.0
// What is asked of a provider beside machines: offers for a job, what a ledger has there, what is
// wrong there, a way in. One class per provider, made by provider/open.h; commands ask it and know
// no provider by name. Most methods have an answer for providers that have nothing to say.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "base/time.h"
#include "job/job.h"
#include "job/request.h"
#include "port/clock.h"
#include "port/counted.h"
#include "port/holding.h"
#include "port/object_store.h"
#include "port/place_info.h"
#include "port/provider.h"
#include "port/rights.h"
#include "spec/job_spec.h"
#include "spec/settings.h"
#include "spec/text/infra.h"

namespace stoker {

// What a provider and its broker are made with.
struct ProviderOptions {
  std::string state_dir;    // e.g. ~/.local/share/stoker: local machines, binaries, what is private
  std::string cache_dir{};  // for what may be looked up again, e.g. ~/.cache/stoker; "" = none
  Settings settings{};      // not known to a node
  // Where providers note what all who look must know; empty: of those that need it there are none.
  std::function<Result<ObjectStore*>()> store{};
  // Where machines may be, whatever the store has noted: as notes have it (a region).
  std::vector<std::string> places{};
  // A remark for whoever asks; empty: there is nobody to read it.
  std::function<void(const std::string&)> say{};
};

// Facts of a provider that hold before anything is asked.
struct BrokerTraits {
  const char* name;      // Place::provider
  const char* title;     // for people: "EC2", "Google"
  const char* machines;  // the same: "machines of EC2"
  InfraKind infra;       // what people write for its places
  // Its machines are made for the job alone and billed: those that cost nothing more come first.
  bool rents = false;
  // Its machines have users and files of their own: the submitting shell's are not there.
  bool elsewhere = false;
  // One of its machines may be this very computer, which it reaches by another way.
  bool may_be_here = false;
  // Machines may stand in line for hours; a request may say that it does not wait (kNoWaiting).
  bool has_line = false;
  // Its agents read of each job whose it is, in the state folder (provider/local/local_private.h).
  bool reads_owner = false;
  // Nodes ask for no machine in another's place; people must. For sentences of recovery.
  bool nodes_stay_alone = false;
  // Prices of its offers are looked up: where one is not known, that is said.
  bool tells_prices = false;
  // Takes a request at once, and may refuse it later: see MayStillRefuse.
  bool answers_late = false;
  // Its nodes start containers.
  bool runs_containers = false;
  // Where the values of secrets lie beside this machine: "the boxes that run the job"; "" = nowhere
  const char* secrets_also_on = "";
  // Schemes of vaults (vault/open.h) that its machines read by their own role, with a space
  // between. Values of a job's secrets lie in the first; "" = as the two above say.
  std::string_view vaults{};
  bool vault_of_region = false;  // each region has a vault of its own
};

// Its machines read references of that scheme by their own role.
bool ReadsVault(const BrokerTraits& traits, std::string_view scheme);
// Scheme of the vault in which values of secrets lie for its machines; "" = in none.
std::string_view OwnVault(const BrokerTraits& traits);
// Which one that is for a machine in `place`, which is of that provider.
Place VaultPlace(const BrokerTraits& traits, const Place& place);

// The ledger that a question is about.
struct LedgerRef {
  std::string id;
  ObjectStore* store = nullptr;
};

// What a job asks of one place: one of its choices, as if that alone had been written.
struct OfferAsk {
  JobSpec spec;
  std::string where, within;  // of spec.resources.infra, as Infra has them
  LedgerRef ledger;
  WallTime submitted;
  bool has_private = false;  // this machine keeps secrets or variables for the job
};

// What a check found, and if it is bad, what to do.
struct Finding {
  std::string what;
  std::string level;  // "ok", "note", "bad"
  std::string text;
};
struct Findings {
  std::vector<Finding> all;  // none: it has nothing to look at
  bool whole = false;        // store, settings and timer are not to be looked at beside them
};

// Left-overs of one of its parts, a box: ids, or why it does not answer.
struct LeftOver {
  std::string part;
  Result<std::vector<std::string>> ids;
};

// A way to the machine of a job's node.
struct ShellAsk {
  LedgerRef ledger;
  std::string job;
  Place place;
  std::string instance_id;
  std::string node;                    // for sentences: "node 0"
  std::vector<std::string> host_keys;  // of its sshd, as the node has told them
  std::string user;                    // as told or given; "" = not known
  bool user_given = false;
  std::string identity;           // file of a private key that the machine knows already; "" = none
  std::string from;               // the asker's address; "" = it is asked for
  std::string command;            // for the machine's shell; "" = a shell
  bool inside = false;            // in the container of the job's program, where there is one
  std::optional<WallTime> until;  // the machine stays so long, where that is known
};
struct Shell {
  std::vector<std::string> words;  // of a program for this terminal
  std::function<void()>
      close{};          // closes what was opened for it, and says what stays; may be empty
  bool inside = false;  // as asked for
};

class Broker {
 public:
  virtual ~Broker() = default;
  virtual const BrokerTraits& traits() const = 0;
  // Whoever lends the machines; made when it is first asked for, and lives as long. Errors: it
  // cannot be made here (no rights, no program).
  virtual Result<Provider*> Machines() = 0;

  // ---- a job's offers ----
  // Could its machines see the job's store, inputs and secrets, and come up again as it asks?
  // kInvalid, with what to do. Asks nobody.
  virtual Status Reach(const OfferAsk&) { return Status::Ok(); }
  // The ways to have the machines, at least one. Only asks. What could never be had is kInvalid,
  // with the nearest that can. Ranks are left 0.
  virtual Result<std::vector<Offer>> Resolve(const OfferAsk& ask) = 0;
  // Once code and binary are stored: what else the machines of `offers`, which are of one account
  // and region, are made of. `blob_period`: of the binary's copy (ledger/blobs.h). May be repeated.
  virtual Status Complete(const LedgerRef&, int64_t blob_period, std::vector<Offer>* offers) {
    (void)blob_period, (void)offers;
    return Status::Ok();
  }

  // Whether it may still refuse what this very broker's provider has asked for under `token`. Asks
  // until it has heard. False also for what was never asked for. Thread-safe. Errors: as those of
  // Provider::Describe.
  virtual Result<bool> MayStillRefuse(const std::string& token) {
    (void)token;
    return false;
  }

  // Opens what must be open; the caller runs the words and then closes. kInvalid: its machines are
  // not lent so, with what else to do.
  virtual Result<Shell> Enter(const ShellAsk& ask) {
    return Status(Code::kInvalid, "there is no way to a shell on " + ask.node);
  }

  // ---- what is there ----
  // What --infra takes here, without asking anybody; none: `stoker places` leaves it out.
  virtual std::vector<std::string> Words() { return {}; }
  // What each has, and what of it is free; of a provider that cannot tell, its words. One part that
  // does not answer is no error: it is told in its `trouble`.
  virtual Result<std::vector<PlaceInfo>> Places() {
    std::vector<PlaceInfo> places;
    for (std::string& word : Words()) places.emplace_back().infra = std::move(word);
    return places;
  }
  // What jobs need there, tried; makes nothing that stays. `where`: as OfferAsk's; `ledger`: or why
  // there is none. Errors: it cannot be tried at all.
  virtual Result<Findings> Examine(const std::string& where, const Result<LedgerRef>& ledger) {
    (void)where, (void)ledger;
    return Findings();
  }
  // `rights`, which are those of the store at `store_url`, with what must be allowed besides to
  // have machines in `where`. kInvalid: they could not use such a store.
  virtual Result<Rights> AddRights(Rights rights, const std::string& store_url,
                                   const std::string& where) {
    (void)store_url, (void)where;
    return rights;
  }

  // What the place's own accounting has counted of the job, which asked for GPUs or not. nullopt:
  // nothing of it ran there, or nothing is counted. Takes seconds at most. Errors: it cannot be
  // asked from here.
  virtual Result<std::optional<CountedUse>> Count(const Job& job, bool gpus_asked) {
    (void)job, (void)gpus_asked;
    return std::optional<CountedUse>();
  }

  // ---- what jobs leave ----
  // Adds the digests of stokers that its machines here may run, whatever their jobs: their copies
  // in the state folder stay. Errors: it is not known.
  virtual Status AddBinaries(std::set<std::string>* digests) {
    (void)digests;
    return Status::Ok();
  }
  // All that carries the tag of the ledger `id`, in all places that `ledger` ever noted or, with
  // `everywhere`, in all that there are. Prices are looked up where they can be. Errors: nothing
  // could be asked at all.
  virtual Result<Holdings> List(const LedgerRef& ledger, const std::string& id, bool everywhere) {
    (void)ledger, (void)id, (void)everywhere;
    return Holdings();
  }
  // Of one that List gave. Ok when it is gone already.
  virtual Status End(const Holding& holding) {
    return Status(Code::kInvalid, "it has no " + holding.word + " to end");
  }
  // On computers that one owns: clears away machines that are over, their processes too, also where
  // no record knows them; with `dry_run` only tells which.
  virtual std::vector<LeftOver> ClearOver(bool dry_run) {
    (void)dry_run;
    return {};
  }
  // Takes away what is private to a job that has ended, wherever it answers; what lies in a vault
  // is RemoveJobSecrets' (provider/job_secrets.h).
  virtual void Forget(const LedgerRef&, const std::string& job) { (void)job; }
  // A person says that `part`, a box, will not come back as it was: what it ran of the job counts
  // as gone. How many requests that were. Errors: those of the store.
  virtual Result<int> GiveUp(const LedgerRef&, const std::string& job, const std::string& part,
                             const std::string& by) {
    (void)job, (void)part, (void)by;
    return 0;
  }
};

}  // namespace stoker

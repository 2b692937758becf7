// SPDX-License-Identifier: Apache-2.0
#include "ledger/ledger.h"

#include "base/json.h"
#include "base/json_fields.h"
#include "base/text.h"
#include "job/job.h"
#include "ledger/paths.h"
#include "ledger/probe.h"
#include "ledger/segments/read_again.h"

namespace stoker {
namespace {

constexpr int kLedgerFormat = 1;
constexpr size_t kMaxDescription = 64 << 10;

// It holds the ledger's id and no more: all else is whole. So it is written anew, and never to be
// taken away: whoever came next would make a ledger of another id, which ends none of the machines
// that run now.
std::string HowToMend(const std::string& where, const std::string& fresh_id) {
  return "The jobs are not damaged: this file only holds the ledger's id. Write it again, as one "
         "line: {\"format\":1,\"id\":\"ID\"} to " +
         where +
         "; ID is the \"ledger_id\" in the boot.json of a machine that runs a job of it "
         "(~/.local/share/stoker/instances/*/boot.json); when none runs, any will do: " +
         fresh_id;
}

Result<std::string> DecodeLedgerId(const std::string& where, const std::string& text) {
  auto object = json::ParseObject(where, text, kMaxDescription);
  if (!object.ok()) {
    return Status(Code::kCorrupt, object.status().message() + ", but " +
                                      std::to_string(text.size()) + " bytes: '" +
                                      Printable(text.substr(0, 60)) + "'");
  }
  STOKER_TRY(json::CheckFormat(where, *object, kLedgerFormat)
                 .WithNext("Use that version, or another store"));
  std::string id;
  json::JsonIn in(*object, where + ": ");
  in.Need("id", id);
  in.Check(IsSafeName(id), "id", "is not a ledger's id");
  if (!in.status().ok()) return in.status();
  return id;
}

}  // namespace

Result<std::unique_ptr<Ledger>> Ledger::Open(ObjectStore& store, Clock& clock, uint64_t seed,
                                             NewLedger when_new) {
  std::unique_ptr<Ledger> ledger(new Ledger(store, clock, seed));
  const std::string where = store.url() + "/" + paths::LedgerId();
  const auto read = [&] {
    return GetJudged(store, paths::LedgerId(),
                     [&](const Object& object) { return DecodeLedgerId(where, object.data); });
  };
  auto id = read();
  if (id.status().Is(Code::kNotFound)) {
    if (when_new == NewLedger::kProbe) {
      STOKER_TRY(ProbeConditions(store, "probe/" + ledger->Nonce()));
    }
    const nlohmann::json fresh = {{"format", kLedgerFormat},
                                  {"id", "l" + ledger->Nonce()},
                                  {"created", FormatRfc3339(clock.Wall())}};
    const auto put = store.Put(paths::LedgerId(), fresh.dump() + "\n", Condition::Absent());
    // Whoever was first, or whatever became of a request without answer: what is there counts.
    if (!put.ok() && !put.status().Is(Code::kExists) && !put.status().transient()) {
      return put.status().WithContext("making a ledger at " + store.url());
    }
    id = read();
  }
  if (id.ok()) {
    ledger->id_ = std::move(*id);
    return ledger;
  }
  if (!MayBeMomentary(id.status())) {
    return id.status().WithContext("opening the ledger at " + store.url());
  }
  if (!id.status().Is(Code::kCorrupt)) return id.status();
  return id.status().WithNext(HowToMend(where, "l" + ledger->Nonce()));
}

std::string Ledger::Nonce() {
  const std::lock_guard lock(mutex_);
  return prng_.Base32(16);
}

std::string Ledger::NewJobId() {
  const std::lock_guard lock(mutex_);
  return prng_.Base32(8);
}

}  // namespace stoker

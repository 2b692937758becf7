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

Result<std::string> Ledger::ReadId() {
  const std::string where = store_.url() + "/" + paths::LedgerId();
  return GetJudged(store_, paths::LedgerId(),
                   [&](const Object& object) { return DecodeLedgerId(where, object.data); });
}

Status Ledger::WriteId(const std::string& id) {
  const nlohmann::json fresh = {
      {"format", kLedgerFormat}, {"id", id}, {"created", FormatRfc3339(clock_.Wall())}};
  const auto put = store_.Put(paths::LedgerId(), fresh.dump() + "\n", Condition::Absent());
  made_ = put.ok();
  // Whoever was first, or whatever became of a request without answer: what is there counts.
  if (put.ok() || put.status().Is(Code::kExists) || put.status().transient()) return Status::Ok();
  return put.status();
}

Status Ledger::Take(Result<std::string> id) {
  if (id.ok()) {
    id_ = std::move(*id);
    return Status::Ok();
  }
  if (!MayBeMomentary(id.status())) {
    return id.status().WithContext("opening the ledger at " + store_.url());
  }
  if (!id.status().Is(Code::kCorrupt)) return id.status();
  return id.status().WithNext(HowToMend(store_.url() + "/" + paths::LedgerId(), "l" + Nonce()));
}

Result<std::unique_ptr<Ledger>> Ledger::Open(ObjectStore& store, Clock& clock, uint64_t seed,
                                             NewLedger when_new) {
  std::unique_ptr<Ledger> ledger(new Ledger(store, clock, seed));
  auto id = ledger->ReadId();
  if (id.status().Is(Code::kNotFound) && when_new != NewLedger::kNever) {
    if (when_new == NewLedger::kProbe) {
      STOKER_TRY(ProbeConditions(store, "probe/" + ledger->Nonce()));
    }
    STOKER_TRY(
        ledger->WriteId("l" + ledger->Nonce()).WithContext("making a ledger at " + store.url()));
    id = ledger->ReadId();
  }
  STOKER_TRY(ledger->Take(std::move(id)));
  return ledger;
}

Result<std::unique_ptr<Ledger>> Ledger::Restore(ObjectStore& store, Clock& clock, uint64_t seed,
                                                const std::string& id) {
  std::unique_ptr<Ledger> ledger(new Ledger(store, clock, seed));
  STOKER_TRY(ledger->WriteId(id).WithContext("writing " + store.url() + "/" + paths::LedgerId() +
                                             " again"));
  STOKER_TRY(ledger->Take(ledger->ReadId()));
  return ledger;
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

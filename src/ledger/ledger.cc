// SPDX-License-Identifier: Apache-2.0
#include "ledger/ledger.h"

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "job/job.h"
#include "job/json_fields.h"
#include "ledger/paths.h"
#include "ledger/probe.h"

namespace stoker {
namespace {

constexpr size_t kMaxDescription = 64 << 10;

Result<std::string> DecodeLedgerId(const std::string& where, const std::string& text) {
  const std::string next =
      "If no ledger is there, remove the file; else restore it from a copy: the machines of its "
      "jobs carry its id";
  const auto object = json::ParseObject(where, text, kMaxDescription);
  if (!object.ok()) return object.status().WithNext(next);
  const Status format = json::CheckFormat(where, *object, kRecordFormat);
  if (format.Is(Code::kCorrupt)) return format.WithNext(next);
  STOKER_TRY(format.WithNext("Use that version, or another store"));
  std::string id;
  json::JsonIn in(*object, where + ": ");
  in.Need("id", id);
  in.Check(IsSafeName(id), "id", "is not a ledger's id");
  if (!in.status().ok()) return in.status().WithNext(next);
  return id;
}

}  // namespace

Result<std::unique_ptr<Ledger>> Ledger::Open(ObjectStore& store, Clock& clock, uint64_t seed,
                                             NewLedger when_new) {
  std::unique_ptr<Ledger> ledger(new Ledger(store, clock, seed));
  const std::string where = store.url() + "/" + paths::LedgerId();
  auto read = store.Get(paths::LedgerId());
  if (read.status().Is(Code::kNotFound)) {
    if (when_new == NewLedger::kProbe) {
      STOKER_TRY(ProbeConditions(store, "probe/" + ledger->Nonce()));
    }
    const nlohmann::json fresh = {{"format", kRecordFormat},
                                  {"id", "l" + ledger->Nonce()},
                                  {"created", FormatRfc3339(clock.Wall())}};
    const auto put = store.Put(paths::LedgerId(), fresh.dump() + "\n", Condition::Absent());
    // Whoever was first, or whatever became of a request without answer: what is there counts.
    if (!put.ok() && !put.status().Is(Code::kExists) && !put.status().transient()) {
      return put.status().WithContext("making a ledger at " + store.url());
    }
    read = store.Get(paths::LedgerId());
  }
  if (!read.ok()) return read.status().WithContext("opening the ledger at " + store.url());
  STOKER_ASSIGN(ledger->id_, DecodeLedgerId(where, read->data));
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

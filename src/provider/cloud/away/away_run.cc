// SPDX-License-Identifier: Apache-2.0
#include "provider/cloud/away/away_run.h"

#include <cstdlib>
#include <utility>

#include "base/json_fields.h"
#include "base/text.h"
#include "controller/away/bound.h"
#include "notify/http_notifier.h"
#include "store/open.h"
#include "sys/file.h"
#include "sys/real_clock.h"

namespace stoker::cloud {
namespace {

// The only disk that a function may write to; what lies there does no harm, and is not relied on.
constexpr char kScratch[] = "/tmp/stoker";

}  // namespace

std::vector<std::pair<std::string, std::string>> AwayVariables(const std::string& store,
                                                               const std::string& ledger,
                                                               const Bound& bound) {
  return {{kAwayStoreVariable, store},
          {kAwayLedgerVariable, ledger},
          {kAwayBoundVariable, EncodeBound(bound)}};
}

Status CheckAwayStore(const std::string& there, const std::string& store) {
  if (there.empty() || there == store) return Status::Ok();
  return Status(Code::kInvalid,
                "a function of this ledger's name looks after the jobs in " + Printable(there) +
                    ", and this one is in " + store,
                "If that is no longer wanted, take it away where the store is " + Printable(there) +
                    ": stoker controller --uninstall");
}

std::string AwayVariable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

Result<AwayReport> RunAwayOnce(const AwayRunner& runner) {
  STOKER_ASSIGN(Bound bound, ParseBound(AwayVariable(kAwayBoundVariable)));
  RealClock clock;
  STOKER_ASSIGN(const auto store, OpenStore(AwayVariable(kAwayStoreVariable), {}, NoFolder::kLook));
  STOKER_ASSIGN(const auto ledger,
                Ledger::Open(*store, clock, sys::RandomU64(), NewLedger::kNever));
  if (ledger->id() != AwayVariable(kAwayLedgerVariable)) {
    return Status(Code::kInvalid,
                  "the ledger in " + store->url() +
                      " is another one than when "
                      "this function was installed",
                  "Install it again: stoker controller --install " + runner.infra);
  }
  ProviderOptions options;
  options.state_dir = kScratch;
  // Notes lie in the bucket, and what it may have at once is counted whatever becomes of them.
  options.places = runner.places.empty() ? bound.regions : runner.places;
  options.store = [&store]() -> Result<ObjectStore*> { return store.get(); };
  const auto broker = runner.broker(options, clock);
  AwayCall away;
  away.id = runner.id;
  away.instance = runner.instance;
  away.version = STOKER_VERSION;
  away.bound = std::move(bound);
  away.understand = runner.understand;
  away.left = [&] { return runner.left(clock); };
  // It has no right to read secrets, nor to publish: such addresses are for others.
  const auto notifier = MakeNotifier(nullptr, nullptr);
  away.notifier = notifier.get();
  return LookAway(*ledger, *broker, clock, away);
}

std::string Encode(const AwayReport& report) {
  return json::Dump({{"what", report.what},
                     {"active", report.active},
                     {"passed", report.passed},
                     {"changed", report.changed},
                     {"left", report.left},
                     {"notes", report.notes},
                     {"troubles", report.troubles},
                     {"swept", report.swept},
                     {"ended", report.ended}});
}

}  // namespace stoker::cloud

// SPDX-License-Identifier: Apache-2.0
#include "provider/ec2/away/lambda_main.h"

#include <cstdio>
#include <cstdlib>
#include <memory>

#include "base/json_fields.h"
#include "base/text.h"
#include "controller/away/away_look.h"
#include "notify/http_notifier.h"
#include "provider/ec2/away/ec2_asked.h"
#include "provider/ec2/away/lambda_event.h"
#include "provider/ec2/away/lambda_runtime.h"
#include "provider/ec2/ec2_broker.h"
#include "store/open.h"
#include "sys/file.h"
#include "sys/real_clock.h"

namespace stoker {
namespace {

// The only disk that a function may write to; what lies there does no harm, and is not relied on.
constexpr char kScratch[] = "/tmp/stoker";

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
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

// All is opened anew for each call: between two calls the process may have been frozen for an
// hour, and a connection of before is worth less than it costs to find out.
Result<AwayReport> Look(const ec2::LambdaCall& call) {
  STOKER_ASSIGN(Bound bound, ParseBound(Variable(kAwayBoundVariable)));
  RealClock clock;
  STOKER_ASSIGN(const auto store, OpenStore(Variable(kAwayStoreVariable), {}, NoFolder::kLook));
  STOKER_ASSIGN(const auto ledger,
                Ledger::Open(*store, clock, sys::RandomU64(), NewLedger::kNever));
  if (ledger->id() != Variable(kAwayLedgerVariable)) {
    return Status(Code::kInvalid,
                  "the ledger in " + store->url() +
                      " is another one than when "
                      "this function was installed",
                  "Install it again: stoker controller --install aws");
  }
  ProviderOptions options;
  options.state_dir = kScratch;
  // Notes lie in the bucket, and what it may have at once is counted whatever becomes of them.
  options.places = bound.regions;
  options.store = [&store]() -> Result<ObjectStore*> { return store.get(); };
  const auto broker = MakeEc2Broker(options, clock);
  AwayCall away;
  away.id = call.id;
  away.instance = ec2::InstanceOfEvent(call.event);
  away.version = STOKER_VERSION;
  away.bound = std::move(bound);
  away.understand = AskedOfEc2;
  away.left = [&] { return call.deadline - clock.Wall(); };
  // It has no right to read secrets, nor to publish: such addresses are for others.
  const auto notifier = MakeNotifier(nullptr, nullptr);
  away.notifier = notifier.get();
  return LookAway(*ledger, *broker, clock, away);
}

Result<std::string> Handle(const ec2::LambdaCall& call) {
  const auto report = Look(call);
  // A line in the function's log group for each call.
  const std::string line = report.ok() ? Encode(*report) : report.status().ToString();
  std::fprintf(stderr, "%s\n", line.c_str());
  if (!report.ok()) return report.status();
  return line;
}

}  // namespace

std::optional<int> LambdaMain() {
  const std::string api = Variable("AWS_LAMBDA_RUNTIME_API");
  if (api.empty() || Variable(kAwayBoundVariable).empty()) return std::nullopt;
  const Status why = ec2::ServeLambda(api, Handle);
  std::fprintf(stderr, "stoker: %s\n", why.ToString().c_str());
  return 1;  // Lambda starts another one
}

}  // namespace stoker

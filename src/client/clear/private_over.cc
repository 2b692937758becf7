// SPDX-License-Identifier: Apache-2.0
#include "client/clear/private_over.h"

#include <set>
#include <string>

#include "ledger/paths.h"
#include "ledger/records.h"
#include "provider/local/local_private.h"
#include "spec/parse.h"

namespace stoker::client {
namespace {

// Between the file and the job's record lies one command.
constexpr Duration kUnborn = Duration::Minutes(10);

// Wherever it has been.
void ForgetThere(Client& client, Ledger& ledger, const Job& job) {
  std::set<std::string> asked;
  for (const Request& request : job.requests) asked.insert(request.ask.place.provider);
  for (const std::string& name : asked) {
    const auto broker = client.broker(name);
    if (broker.ok()) (*broker)->Forget({ledger.id(), &ledger.store()}, job.id);
  }
}

// Its events may still be told, by who knows its secrets.
bool IsStillTold(Ledger& ledger, const Job& job) {
  if (!ledger.store().Head(paths::Active(job.id)).ok()) return false;
  const auto text = ReadSpec(ledger, job);
  const auto spec = text.ok() ? ParseStoredSpec(*text) : Result<JobSpec>(text.status());
  return spec.ok() && TellsBySecret(spec->notify);
}

}  // namespace

void ForgetPrivate(Client& client) {
  const auto ledger = client.ledger();
  if (!ledger.ok()) return;
  const std::string& state = client.places().state;
  SweepLocalPrivate(state, client.clock().Wall() - kUnborn);
  for (const auto& [job, changed] : ListLocalPrivate(state, (*ledger)->id())) {
    const auto read = ReadJob(**ledger, job);
    const bool unknown = read.status().Is(Code::kNotFound);
    const bool over = read.ok() ? IsFinal(read->job.state) && !IsStillTold(**ledger, read->job)
                                : unknown && client.clock().Wall() - changed > kUnborn;
    if (over && read.ok()) ForgetThere(client, **ledger, read->job);
    if (over) (void)RemoveLocalPrivate(state, (*ledger)->id(), job);
  }
}

}  // namespace stoker::client

// SPDX-License-Identifier: Apache-2.0
#include "client/clear/private_over.h"

#include <set>
#include <string>

#include "ledger/records.h"
#include "provider/local/local_private.h"

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

}  // namespace

void ForgetPrivate(Client& client) {
  const auto ledger = client.ledger();
  if (!ledger.ok()) return;
  const std::string& state = client.places().state;
  SweepLocalPrivate(state, client.clock().Wall() - kUnborn);
  for (const auto& [job, changed] : ListLocalPrivate(state, (*ledger)->id())) {
    const auto read = ReadJob(**ledger, job);
    const bool unknown = read.status().Is(Code::kNotFound);
    const bool over =
        read.ok() ? IsFinal(read->job.state) : unknown && client.clock().Wall() - changed > kUnborn;
    if (over && read.ok()) ForgetThere(client, **ledger, read->job);
    if (over) (void)RemoveLocalPrivate(state, (*ledger)->id(), job);
  }
}

}  // namespace stoker::client

// SPDX-License-Identifier: Apache-2.0
#include "client/tell_test.h"

#include <optional>

#include "base/text.h"
#include "client/submit/private_env.h"
#include "notify/http_notifier.h"
#include "provider/registry.h"
#include "vault/open.h"

namespace stoker::client {

Result<std::vector<TestTold>> TellTest(Client& client, const JobSpec& spec) {
  // Of its secrets those that are addresses.
  JobSpec told = spec;
  told.secrets.clear();
  for (const SecretSpec& one : spec.secrets) {
    if (IsAddress(spec.notify, one.name)) told.secrets.push_back(one);
  }
  told.whole_shell = false;
  LocalPrivate own;
  if (!told.secrets.empty()) {  // they are found beside a ledger, which a job would make, too
    STOKER_TRY(client.ledger_or_new().status());
    STOKER_ASSIGN(own, GatherPrivate(client, {told, {}, false, ""}));
  }
  const auto find = [&](const Job&,
                        const SecretSpec& secret) -> Result<std::optional<std::string>> {
    if (!secret.from.empty()) {
      STOKER_ASSIGN(const std::string value, ReadSecret(secret.from, stoker::Place()));
      return std::optional(value);
    }
    for (const auto& [name, value] : own.secrets) {
      if (name == secret.name) return std::optional(value);
    }
    return std::optional<std::string>();
  };
  const auto notifier = MakeNotifier(find, OpenAnyTopic);
  Job nobody;
  Notification what;
  what.job = "none";
  what.name = spec.name.empty() ? "stoker" : spec.name;
  what.event = "test";
  what.key = "test-" + std::to_string(client.clock().Wall().ms);
  what.state = "Test";
  what.text = "a test of 'notify': no job of stoker's has done anything";
  what.next = "stoker ls";
  what.at = client.clock().Wall();
  std::vector<TestTold> all;
  for (const NotifySpec& to : spec.notify) {
    const bool knows = notifier->Knows(nobody, told, to);
    all.push_back({Whom(to), knows ? notifier->Send(nobody, told, to, what)
                                   : Status(Code::kDenied,
                                            "this machine has not what it takes: its secret, "
                                            "or credentials of that cloud")});
  }
  return all;
}

}  // namespace stoker::client

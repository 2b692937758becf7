// SPDX-License-Identifier: Apache-2.0
#include "aws/account/account.h"

#include <unistd.h>

#include <utility>
#include <vector>

#include "aws/system_environment.h"
#include "net/system.h"
#include "sys/command.h"

namespace stoker {
namespace {

constexpr int64_t kProgramMs = 60'000;
constexpr char kAwsCaVariable[] = "AWS_CA_BUNDLE";

Result<AwsProcessOutput> RunProgram(const std::vector<std::string>& argv) {
  sys::Command command;
  command.argv = argv;
  command.max_output = 1 << 20;
  for (char** at = environ; at != nullptr && *at != nullptr; ++at) command.env.emplace_back(*at);
  auto results = sys::RunCommands({std::move(command)}, kProgramMs);
  if (!results[0].ok()) return results[0].status();
  return AwsProcessOutput{results[0]->exit_code, std::move(results[0]->out),
                          std::move(results[0]->err)};
}

}  // namespace

Result<AwsAccount> FindAwsAccount(const std::optional<HttpTimeouts>& timeouts) {
  AwsAccount account;
  account.outside = SystemAwsEnvironment(nullptr, RunProgram);
  STOKER_ASSIGN(account.config, ReadAwsConfig(account.outside));
  account.http =
      SystemPoolOptions(AwsSetting(account.outside, account.config, kAwsCaVariable, "ca_bundle"));
  if (timeouts) account.http.timeouts = *timeouts;
  account.outside.http = SystemCredentialSender(account.http);
  return account;
}

Result<AwsCredentials> AwsKeys::Get() {
  auto got = source_.Get();
  const std::lock_guard lock(mutex_);
  if (got.ok()) last_ = *got;
  return got;
}

void AwsKeys::Refused() {
  AwsCredentials last;
  {
    const std::lock_guard lock(mutex_);
    last = last_;
  }
  source_.Reject(last);
}

}  // namespace stoker

// SPDX-License-Identifier: Apache-2.0
// AWS as the user of this machine has set it up: what every client of a service of it begins with.
#pragma once

#include <mutex>
#include <optional>

#include "aws/config.h"
#include "aws/credential_source.h"
#include "aws/environment.h"
#include "base/status.h"
#include "net/http_client.h"

namespace stoker {

struct AwsAccount {
  AwsEnvironment outside;
  AwsConfig config;
  HttpPoolOptions http;
};

// Reads variables and files; sends nothing. `timeouts`, where they are given, hold for services and
// for credentials. Errors: those of ReadAwsConfig.
Result<AwsAccount> FindAwsAccount(const std::optional<HttpTimeouts>& timeouts = {});

// The credentials that were last handed out, so that a refusal can name them. Thread-safe.
class AwsKeys {
 public:
  explicit AwsKeys(AwsEnvironment outside) : source_(std::move(outside)) {}
  // As AwsCredentialSource::Get.
  Result<AwsCredentials> Get();
  // The service takes the last ones no longer.
  void Refused();

 private:
  AwsCredentialSource source_;
  std::mutex mutex_;
  AwsCredentials last_;
};

}  // namespace stoker

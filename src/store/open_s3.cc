// SPDX-License-Identifier: Apache-2.0
#include "store/open_s3.h"

#include <sys/random.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <utility>

#include "aws/config.h"
#include "aws/credential_source.h"
#include "aws/host_environment.h"
#include "base/text.h"
#include "net/http_client.h"
#include "store/s3_store.h"
#include "sys/command.h"

namespace stoker {
namespace {

constexpr int64_t kProgramMs = 60'000;

std::optional<std::string> Variable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

WallTime Now() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return {std::chrono::duration_cast<std::chrono::milliseconds>(since).count()};
}

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

HttpPoolOptions PoolOptions() {
  HttpPoolOptions options;
  options.environment = Variable;
  options.ca_file = Variable("AWS_CA_BUNDLE").value_or("");
  return options;
}

// Requests for credentials: to services beside us, which a proxy does not know and which are often
// not there at all, and to Amazon's.
HttpSend Sender() {
  HttpPoolOptions options = PoolOptions();
  options.timeouts.connect = Duration::Seconds(2);
  options.timeouts.first_byte = Duration::Seconds(20);
  options.max_body_bytes = 1 << 20;
  options.environment = [](const std::string& name) -> std::optional<std::string> {
    // What is beside us is reached straight, whatever no_proxy says.
    if (name == "no_proxy" || name == "NO_PROXY") {
      return Variable(name).value_or("") + ",169.254.169.254,169.254.170.2,169.254.170.23," +
             "fd00:ec2::254,fd00:ec2::23,localhost,127.0.0.1,::1";
    }
    return Variable(name);
  };
  auto pool = std::make_shared<HttpPool>(std::move(options));
  return [pool](const std::string& base_url, const HttpRequest& request) -> Result<HttpResponse> {
    STOKER_ASSIGN(const HttpUrl url, ParseHttpUrl(base_url));
    return pool->Call(url, request);
  };
}

uint64_t RandomSeed() {
  uint64_t seed = static_cast<uint64_t>(Now().ms);
  if (getrandom(&seed, sizeof seed, 0) != sizeof seed) seed ^= static_cast<uint64_t>(getpid());
  return seed;
}

// The credentials that were last handed out, so that a refusal can name them.
class Keys {
 public:
  explicit Keys(AwsEnvironment outside) : source_(std::move(outside)) {}
  Result<AwsCredentials> Get() {
    auto got = source_.Get();
    const std::lock_guard lock(mutex_);
    if (got.ok()) last_ = *got;
    return got;
  }
  void Refused() {
    AwsCredentials last;
    {
      const std::lock_guard lock(mutex_);
      last = last_;
    }
    source_.Reject(last);
  }

 private:
  AwsCredentialSource source_;
  std::mutex mutex_;
  AwsCredentials last_;
};

}  // namespace

Result<std::unique_ptr<ObjectStore>> OpenS3(const std::string& url) {
  constexpr std::string_view kScheme = "s3://";
  S3StoreOptions options;
  std::string rest = url.substr(kScheme.size());
  while (EndsWith(rest, "/")) rest.pop_back();
  const size_t slash = rest.find('/');
  options.client.bucket = rest.substr(0, slash);
  if (slash != std::string::npos) options.prefix = rest.substr(slash + 1);
  const AwsEnvironment outside = HostAwsEnvironment(Sender(), RunProgram);
  STOKER_ASSIGN(const AwsConfig config, ReadAwsConfig(outside));
  options.client.region = AwsRegion(outside, config);
  STOKER_ASSIGN(options.client.endpoint, AwsEndpointUrl(outside, config, "s3"));
  const std::string* style = config.Find(config.profile, "s3.addressing_style");
  if (style != nullptr && *style == "path") options.client.path_style = true;
  if (style != nullptr && *style == "virtual") options.client.path_style = false;
  auto keys = std::make_shared<Keys>(outside);
  options.client.credentials = [keys] { return keys->Get(); };
  options.client.credentials_refused = [keys] { keys->Refused(); };
  options.client.now = Now;
  options.client.http = PoolOptions();
  options.seed = RandomSeed();
  STOKER_ASSIGN(auto store, S3Store::Open(std::move(options)));
  return std::unique_ptr<ObjectStore>(std::move(store));
}

}  // namespace stoker

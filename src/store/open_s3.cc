// SPDX-License-Identifier: Apache-2.0
#include "store/open_s3.h"

#include <unistd.h>

#include <mutex>
#include <utility>

#include "aws/caller.h"
#include "aws/config.h"
#include "aws/credential_source.h"
#include "aws/host_environment.h"
#include "store/host.h"
#include "store/s3/s3_store.h"
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

// What this machine and its user say.
struct World {
  AwsEnvironment outside;
  AwsConfig config;
  HttpPoolOptions http;
};

Result<World> FindWorld() {
  World world;
  world.outside = HostAwsEnvironment(nullptr, RunProgram);
  STOKER_ASSIGN(world.config, ReadAwsConfig(world.outside));
  world.http =
      HostPoolOptions(AwsSetting(world.outside, world.config, kAwsCaVariable, "ca_bundle"));
  world.outside.http = HostCredentialSender(world.http);
  return world;
}

}  // namespace

Result<S3StoreOptions> FindS3Options(const std::string& url) {
  S3StoreOptions options;
  BucketUrl place = ParseBucketUrl(url);
  options.client.bucket = std::move(place.bucket);
  options.prefix = std::move(place.prefix);
  STOKER_ASSIGN(const World world, FindWorld());
  const AwsConfig& config = world.config;
  options.client.region = AwsRegion(world.outside, config);
  STOKER_ASSIGN(options.client.endpoint, AwsEndpointUrl(world.outside, config, "s3"));
  options.client.variant = AwsVariantOf(world.outside, config, "s3");
  const std::string* style = config.Find(config.profile, "s3.addressing_style");
  if (style != nullptr && *style == "path") options.client.path_style = true;
  if (style != nullptr && *style == "virtual") options.client.path_style = false;
  auto keys = std::make_shared<Keys>(world.outside);
  options.client.credentials = [keys] { return keys->Get(); };
  options.client.credentials_refused = [keys] { keys->Refused(); };
  options.client.now = HostNow;
  options.client.http = world.http;
  options.seed = HostSeed();
  return options;
}

Result<std::unique_ptr<ObjectStore>> OpenS3(const std::string& url, std::function<bool()> stopped) {
  STOKER_ASSIGN(S3StoreOptions options, FindS3Options(url));
  options.stopped = std::move(stopped);
  STOKER_ASSIGN(auto store, S3Store::Open(std::move(options)));
  return std::unique_ptr<ObjectStore>(std::move(store));
}

Result<std::string> FindS3Caller(const AwsCredentials& credentials) {
  STOKER_ASSIGN(const World world, FindWorld());
  STOKER_ASSIGN(const std::string s3, AwsEndpointUrl(world.outside, world.config, "s3"));
  STOKER_ASSIGN(const std::string sts, AwsEndpointUrl(world.outside, world.config, "sts"));
  if (!s3.empty() && sts.empty()) return Status(Code::kNotFound, "the store is not Amazon's");
  return CallerArn(world.outside, world.config, credentials);
}

}  // namespace stoker

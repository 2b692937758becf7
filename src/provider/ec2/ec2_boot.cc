// SPDX-License-Identifier: Apache-2.0
#include "provider/ec2/ec2_boot.h"

#include "aws/config.h"
#include "base/json_fields.h"
#include "base/text.h"
#include "net/percent.h"
#include "provider/ec2/ec2_boot_scripts.h"

namespace stoker::ec2 {
namespace {

constexpr int kLaunchFormat = 1;
constexpr size_t kMostLaunch = 64 << 10;
constexpr char kEnd[] = "END_OF_FILE";

struct Bucket {
  std::string name;
  std::string prefix;  // "" or "a/b/"
};

Result<Bucket> BucketOf(const std::string& url) {
  if (!StartsWith(url, "s3://")) {
    return Status(Code::kInvalid, "machines of EC2 cannot reach the store " + Printable(url),
                  "Give them a bucket of S3: stoker config set store s3://bucket/prefix");
  }
  std::string rest = url.substr(5);
  while (EndsWith(rest, "/")) rest.pop_back();
  const size_t slash = rest.find('/');
  Bucket out{rest.substr(0, slash), ""};
  if (slash != std::string::npos) out.prefix = rest.substr(slash + 1) + "/";
  return out;
}

// Where the copies of the binary lie, as a URL that a digest is put behind.
std::string BlobBase(const Bucket& bucket, const Options& options) {
  const std::string below = PercentEncodePath(bucket.prefix) + "blobs/";
  if (!options.s3_endpoint.empty()) {
    std::string base = options.s3_endpoint;
    while (EndsWith(base, "/")) base.pop_back();
    return base + "/" + bucket.name + "/" + below;
  }
  const std::string region = AwsRegionalUrl("s3", options.store_region);
  // A name with dots fits no certificate.
  if (bucket.name.find('.') != std::string::npos) return region + "/" + bucket.name + "/" + below;
  return "https://" + bucket.name + "." + region.substr(8) + "/" + below;
}

std::string Env(const LaunchRequest& request, const Options& options, const Bucket& bucket) {
  const auto set = [](const char* name, const std::string& value) {
    return std::string(name) + "=" + ShellQuote(value) + "\n";
  };
  return set("LIMIT", std::to_string(std::max<int64_t>(request.limit.ms / 1000, 60))) +
         set("DIGEST", request.binary_digest) + set("PERIOD", std::to_string(options.blob_period)) +
         set("REGION", options.store_region) + set("BASE", BlobBase(bucket, options)) +
         set("S3_ENDPOINT", options.s3_endpoint) + set("EC2_ENDPOINT", options.ec2_endpoint) +
         "IMDS=${IMDS:-http://169.254.169.254}\nexport REGION IMDS\n";
}

std::string File(const std::string& path, const std::string& text) {
  const std::string end = EndsWith(text, "\n") ? "" : "\n";
  return "put " + path + " <<'" + kEnd + "'\n" + text + end + kEnd + "\n";
}

// Whatever stands in it ends in a script in YAML: no line of it may be more than text.
bool IsOneLine(const std::string& text) { return Printable(text) == text; }

}  // namespace

Result<std::string> UserData(const LaunchRequest& request, const Options& options) {
  STOKER_ASSIGN(const Bucket bucket, BucketOf(request.store_url));
  for (const std::string& text : {request.store_url, options.s3_endpoint, options.ec2_endpoint,
                                  options.store_region, request.binary_digest}) {
    if (!IsOneLine(text)) {
      return Status(Code::kInvalid, "not a line of text: " + Printable(text));
    }
  }
  const std::string script =
      kArmHead + File("/opt/stoker/env", Env(request, options, bucket)) +
      File("/opt/stoker/guard", kGuardScript) + File("/opt/stoker/run", kRunScript) +
      File("/opt/stoker/fetch.py", kFetchScript) +
      File(std::string(kNodeDir) + "/" + kLaunchFile, EncodeLaunch(request)) +
      File("/etc/systemd/system/stoker-guard.service", kGuardUnit) +
      File("/etc/systemd/system/stoker-agent.service", kAgentUnit) + kArmTail;
  std::string out =
      "#cloud-config\n# Written by stoker for one job: see docs/aws.md.\nbootcmd:\n"
      "  - - /bin/sh\n    - -c\n    - |\n";
  for (const std::string& line : Split(script, '\n')) {
    if (line.empty()) {
      out += "\n";
    } else {
      out += "      " + line + "\n";
    }
  }
  while (EndsWith(out, "\n\n")) out.pop_back();
  return out;
}

std::string EncodeLaunch(const LaunchRequest& request) {
  const Place& place = request.ask.place;
  json::Value out = {{"format", kLaunchFormat},
                     {"token", request.token},
                     {"ledger_id", request.ledger_id},
                     {"store_url", request.store_url},
                     {"job", request.job},
                     {"account", place.account},
                     {"region", place.region},
                     {"zone", place.zone},
                     {"type", request.ask.type},
                     {"image", request.ask.image},
                     {"market", request.ask.market},
                     {"launches", request.launches},
                     {"slots", request.slots},
                     {"binary_digest", request.binary_digest},
                     {"limit_ms", request.limit.ms},
                     {"not_after", FormatRfc3339(request.not_after)},
                     {"ending", request.ending}};
  return json::Dump(out);
}

Result<LaunchRequest> ParseLaunch(const std::string& text) {
  STOKER_ASSIGN(const json::Value object, json::ParseObject(kLaunchFile, text, kMostLaunch));
  json::JsonIn in(object, std::string(kLaunchFile) + ".");
  LaunchRequest r;
  int format = 0;
  in.Need("format", format);
  if (in.status().ok() && format > kLaunchFormat) {
    return Status(Code::kTooNew, "this machine was started by a newer stoker");
  }
  r.ask.place.provider = "ec2";
  in.Need("token", r.token);
  in.Need("ledger_id", r.ledger_id);
  in.Need("store_url", r.store_url);
  in.Need("job", r.job);
  in("account", r.ask.place.account);
  in.Need("region", r.ask.place.region);
  in("zone", r.ask.place.zone);
  in("type", r.ask.type);
  in("image", r.ask.image);
  in("market", r.ask.market);
  in.Need("launches", r.launches);
  in("slots", r.slots);
  in.Need("binary_digest", r.binary_digest);
  in.Need("limit_ms", r.limit);
  in.Need("not_after", r.not_after);
  in("ending", r.ending);
  in.Check(!r.launches.empty(), "launches", "is empty");
  STOKER_TRY(in.status());
  return r;
}

}  // namespace stoker::ec2

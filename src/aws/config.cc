// SPDX-License-Identifier: Apache-2.0
#include "aws/config.h"

#include <array>
#include <utility>

#include "base/text.h"

namespace stoker {
namespace {

std::string PathFrom(const AwsEnvironment& environment, const std::string& variable,
                     const std::string& usual) {
  const std::string path = environment.variable(variable).value_or(usual);
  return StartsWith(path, "~/") ? environment.home + path.substr(1) : path;
}

// Empty when there is no file.
Result<std::map<std::string, IniSection>> ReadIni(const AwsEnvironment& environment,
                                                  const std::string& path, bool* there) {
  auto text = environment.read_file(path);
  *there = text.ok();
  if (text.code() == Code::kNotFound && !text.ok()) return std::map<std::string, IniSection>();
  if (!text.ok()) return std::move(text).status();
  return ParseIni(path, *text);
}

// "profile x", "sso-session x", "services x" and "default" go where they belong; else nowhere.
void FileSection(const std::string& header, IniSection values, AwsConfig* config) {
  if (header == "default") {
    config->from_config.insert_or_assign(header, std::move(values));
    return;
  }
  const auto words = ShellWords(header);
  if (!words.ok() || words->size() != 2) return;
  const std::string& name = (*words)[1];
  if ((*words)[0] == "profile") config->from_config.insert_or_assign(name, std::move(values));
  if ((*words)[0] == "sso-session") config->sso_sessions.insert_or_assign(name, std::move(values));
  if ((*words)[0] == "services") config->services.insert_or_assign(name, std::move(values));
}

Status ChooseProfile(const AwsEnvironment& environment, const std::string& profile,
                     AwsConfig* config) {
  config->profile = profile;
  for (const char* name : {"AWS_DEFAULT_PROFILE", "AWS_PROFILE"}) {
    if (config->profile.empty()) config->profile = environment.variable(name).value_or("");
  }
  config->chosen = !config->profile.empty();
  if (!config->chosen) config->profile = "default";
  if (!config->chosen || config->Profile(config->profile) != nullptr) return Status::Ok();
  std::vector<std::string> names;
  for (const auto& [name, values] : config->profiles) names.push_back(name);
  const std::string near = Nearest(config->profile, names);
  return Status(Code::kNotFound,
                "there is no AWS profile '" + Printable(config->profile) + "' in " +
                    config->config_path + " or " + config->credentials_path,
                near.empty() ? "Set AWS_PROFILE to one that exists, or unset it"
                             : "Did you mean '" + Printable(near) + "'?");
}

struct Partition {
  std::string_view prefix, id, suffix, dualstack;
};

const Partition& PartitionOf(std::string_view region) {
  static constexpr std::array<Partition, 8> kPartitions = {
      {{"cn-", "aws-cn", "amazonaws.com.cn", "api.amazonwebservices.com.cn"},
       {"us-gov-", "aws-us-gov", "amazonaws.com", "api.aws"},
       {"eusc-", "aws-eusc", "amazonaws.eu", "api.amazonwebservices.eu"},
       {"us-iso-", "aws-iso", "c2s.ic.gov", "api.aws.ic.gov"},
       {"us-isob-", "aws-iso-b", "sc2s.sgov.gov", "api.aws.scloud"},
       {"eu-isoe-", "aws-iso-e", "cloud.adc-e.uk", "api.cloud-aws.adc-e.uk"},
       {"us-isof-", "aws-iso-f", "csp.hci.ic.gov", "api.aws.hci.ic.gov"},
       {"", "aws", "amazonaws.com", "api.aws"}}};
  for (const Partition& partition : kPartitions) {
    if (StartsWith(region, partition.prefix)) return partition;
  }
  return kPartitions.back();
}

}  // namespace

const IniSection* AwsConfig::Profile(const std::string& name) const {
  const auto at = profiles.find(name);
  return at == profiles.end() ? nullptr : &at->second;
}

const std::string* AwsConfig::Find(const std::string& name, const std::string& key) const {
  const IniSection* section = Profile(name);
  if (section == nullptr) return nullptr;
  const auto at = section->find(key);
  return at == section->end() ? nullptr : &at->second;
}

Result<AwsConfig> ReadAwsConfig(const AwsEnvironment& environment, const std::string& profile) {
  AwsConfig config;
  config.config_path = PathFrom(environment, "AWS_CONFIG_FILE", "~/.aws/config");
  config.credentials_path =
      PathFrom(environment, "AWS_SHARED_CREDENTIALS_FILE", "~/.aws/credentials");
  STOKER_ASSIGN(auto sections, ReadIni(environment, config.config_path, &config.has_config));
  for (auto& [header, values] : sections) FileSection(header, std::move(values), &config);
  STOKER_ASSIGN(config.from_credentials,
                ReadIni(environment, config.credentials_path, &config.has_credentials));
  config.profiles = config.from_config;
  for (const auto& [name, values] : config.from_credentials) {
    IniSection& merged = config.profiles[name];  // an empty section is a profile too
    for (const auto& [key, value] : values) merged[key] = value;
  }
  STOKER_TRY(ChooseProfile(environment, profile, &config));
  return config;
}

std::string AwsRegion(const AwsEnvironment& environment, const AwsConfig& config) {
  for (const char* name : {"AWS_REGION", "AWS_DEFAULT_REGION"}) {
    if (auto region = environment.variable(name)) return *region;
  }
  const std::string* region = config.Find(config.profile, "region");
  return region == nullptr ? "" : *region;
}

Result<std::string> AwsEndpointUrl(const AwsEnvironment& environment, const AwsConfig& config,
                                   const std::string& service) {
  const std::string* off = config.Find(config.profile, "ignore_configured_endpoint_urls");
  const auto ignore = environment.variable("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS");
  if (AwsFlag(ignore) || (!ignore && off != nullptr && AwsFlag(*off))) return std::string();
  std::string upper = service;
  for (char& c : upper) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    if (c == '-') c = '_';
  }
  for (const std::string& name : {"AWS_ENDPOINT_URL_" + upper, std::string("AWS_ENDPOINT_URL")}) {
    if (auto url = environment.variable(name)) return *url;
  }
  if (const std::string* name = config.Find(config.profile, "services")) {
    const auto section = config.services.find(*name);
    if (section == config.services.end()) {
      return Status(Code::kInvalid,
                    config.config_path + ": profile '" + Printable(config.profile) +
                        "' refers to services '" + Printable(*name) + "', which is not there",
                    "Add [services " + Printable(*name) + "], or remove the line");
    }
    const auto url = section->second.find(service + ".endpoint_url");
    if (url != section->second.end()) return url->second;
  }
  const std::string* url = config.Find(config.profile, "endpoint_url");
  return url == nullptr ? std::string() : *url;
}

std::string AwsSetting(const AwsEnvironment& environment, const AwsConfig& config,
                       const std::string& variable, const std::string& key) {
  if (auto value = environment.variable(variable)) return *value;
  const std::string* value = config.Find(config.profile, key);
  return value == nullptr ? "" : *value;
}

AwsVariant AwsVariantOf(const AwsEnvironment& environment, const AwsConfig& config,
                        const std::string& service) {
  const auto flag = [&](const char* variable, const char* key) {
    return AwsFlag(AwsSetting(environment, config, variable, key));
  };
  AwsVariant out;
  out.dualstack = flag("AWS_USE_DUALSTACK_ENDPOINT", "use_dualstack_endpoint");
  out.fips = flag("AWS_USE_FIPS_ENDPOINT", "use_fips_endpoint");
  const std::string* more = config.Find(config.profile, "s3.use_dualstack_endpoint");
  if (service == "s3" && more != nullptr) out.dualstack |= AwsFlag(*more);
  return out;
}

std::string AwsRegionalUrl(const std::string& service, const std::string& region,
                           const AwsVariant& variant) {
  const Partition& partition = PartitionOf(region);
  const bool s3 = service == "s3";
  // What the regions of the US government have is FIPS's anyway, but for S3.
  const bool gov = partition.id == "aws-us-gov" && !s3 && !variant.dualstack;
  std::string url = "https://" + service;
  if (variant.fips && !gov) url += "-fips";
  if (variant.dualstack && s3) url += ".dualstack";
  const bool other = variant.dualstack && !s3;
  return url + "." + region + "." + std::string(other ? partition.dualstack : partition.suffix);
}

std::string AwsPartition(const std::string& region) { return std::string(PartitionOf(region).id); }

bool AwsFlag(const std::optional<std::string>& value) {
  if (!value || value->size() != 4) return false;
  std::string lower = *value;
  for (char& c : lower) c = static_cast<char>(c | 0x20);
  return lower == "true";
}

}  // namespace stoker

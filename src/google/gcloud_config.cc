// SPDX-License-Identifier: Apache-2.0
#include "google/gcloud_config.h"

#include <map>

#include "aws/ini.h"
#include "base/text.h"

namespace stoker {
namespace {

// "" = there is no such file.
Result<std::string> ReadIfThere(const GoogleEnvironment& environment, const std::string& path) {
  auto text = environment.read_file(path);
  if (text.status().Is(Code::kNotFound)) return std::string();
  return text;
}

Result<std::string> ActiveName(const GoogleEnvironment& environment, const std::string& folder) {
  if (const auto given = environment.variable("CLOUDSDK_ACTIVE_CONFIG_NAME")) return *given;
  STOKER_ASSIGN(const std::string text, ReadIfThere(environment, folder + "/active_config"));
  const std::string name = text.substr(0, text.find_first_of(" \t\r\n"));
  return name.empty() ? std::string("default") : name;
}

}  // namespace

Result<GcloudConfig> ReadGcloudConfig(const GoogleEnvironment& environment) {
  const std::string folder =
      environment.variable("CLOUDSDK_CONFIG").value_or(environment.home + "/.config/gcloud");
  STOKER_ASSIGN(const std::string name, ActiveName(environment, folder));
  std::map<std::string, IniSection> sections;
  if (IsSafeName(name)) {
    const std::string path = folder + "/configurations/config_" + name;
    STOKER_ASSIGN(const std::string text, ReadIfThere(environment, path));
    STOKER_ASSIGN(sections, ParseIni(path, text));
  }
  const auto of = [&](const char* variable, const char* section, const char* key) {
    return environment.variable(variable).value_or(sections[section][key]);
  };
  GcloudConfig out;
  out.project = of("CLOUDSDK_CORE_PROJECT", "core", "project");
  out.region = of("CLOUDSDK_COMPUTE_REGION", "compute", "region");
  out.zone = of("CLOUDSDK_COMPUTE_ZONE", "compute", "zone");
  return out;
}

}  // namespace stoker

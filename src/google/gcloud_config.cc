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
  GcloudConfig out;
  out.project = environment.variable("CLOUDSDK_CORE_PROJECT").value_or("");
  out.region = environment.variable("CLOUDSDK_COMPUTE_REGION").value_or("");
  out.zone = environment.variable("CLOUDSDK_COMPUTE_ZONE").value_or("");
  if (!out.project.empty() && !out.region.empty()) return out;
  const std::string folder =
      environment.variable("CLOUDSDK_CONFIG").value_or(environment.home + "/.config/gcloud");
  STOKER_ASSIGN(const std::string name, ActiveName(environment, folder));
  std::map<std::string, IniSection> sections;
  if (IsSafeName(name)) {
    const std::string path = folder + "/configurations/config_" + name;
    STOKER_ASSIGN(const std::string text, ReadIfThere(environment, path));
    STOKER_ASSIGN(sections, ParseIni(path, text));
  }
  if (out.project.empty()) out.project = sections["core"]["project"];
  if (out.region.empty()) out.region = sections["compute"]["region"];
  if (out.zone.empty()) out.zone = sections["compute"]["zone"];
  return out;
}

}  // namespace stoker

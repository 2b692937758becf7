// SPDX-License-Identifier: Apache-2.0
#include "spec/places/gce/section.h"

#include "spec/text/google_words.h"

namespace stoker {
namespace {

// "default", or "HOST-PROJECT/NAME" of a shared one.
bool IsNetworkName(std::string_view text) {
  const size_t slash = text.find('/');
  if (slash == std::string_view::npos) return IsGoogleName(text);
  return IsGoogleName(text.substr(0, slash)) && IsGoogleName(text.substr(slash + 1));
}

bool IsTruth(std::string_view text) { return text == "true" || text == "false"; }

}  // namespace

void ReadGcp(const YamlNode& node, SpecReader* reader, GcpSpec* gcp) {
  if (!reader->ExpectMap(node, "gcp")) return;
  const auto placement = [=](const YamlNode& v) {
    if (const auto word = reader->Choice(v, "gcp.placement", {"cluster"})) {
      gcp->placement = *word;
    }
  };
  reader->ReadMap(node, "gcp", {{"placement", placement}},
                  {{"region", "Write it behind the infra: gcp/REGION"},
                   {"zone", "Write it behind the infra: gcp/ZONE"},
                   {"instance_type", "Write 'resources.instance_type'"},
                   {"project", "It is a setting: stoker config set gcp.project PROJECT"},
                   {"network", "It is a setting: stoker config set gcp.network NAME"},
                   {"subnetwork", "It is a setting: stoker config set gcp.subnetwork NAME"}});
}

std::string PrintGcp(const GcpSpec& gcp) {
  return gcp.placement.empty() ? "" : "gcp:\n  placement: " + gcp.placement + "\n";
}

const std::vector<PlaceSetting>& GcpSettings() {
  static const std::vector<PlaceSetting> all = {
      {kGcpProject, "the project for machines of Google", "as Google's other tools have it",
       IsGoogleName, "Write its id: small letters, digits, -"},
      {kGcpServiceAccount, "the account that machines of Google run as",
       "stoker@PROJECT.iam.gserviceaccount.com", IsGoogleAccount,
       "Write its e-mail: name@project.iam.gserviceaccount.com"},
      {kGcpNetwork, "the VPC network of machines of Google", "default", IsNetworkName,
       "Write NAME, or PROJECT/NAME"},
      {kGcpSubnetwork, "the subnetwork of such machines", "that of the network", IsNetworkName,
       "Write NAME, or PROJECT/NAME"},
      {kGcpExternalIp, "whether such machines have an address of the internet", "true", IsTruth,
       "Write true or false"}};
  return all;
}

}  // namespace stoker

// SPDX-License-Identifier: Apache-2.0
#include "spec/places/ec2/section.h"

#include <functional>

#include "base/text.h"
#include "spec/text/google_words.h"
#include "spec/text/json_text.h"

namespace stoker {
namespace {

constexpr size_t kMostSubnets = 16;
constexpr size_t kMostGroups = 5;  // of a network interface
constexpr size_t kMostGroupName = 255;

// One or a list of them.
void ReadEach(const YamlNode& node, std::string_view what, size_t most, SpecReader* reader,
              const std::function<void(const YamlNode&)>& read) {
  if (!node.IsList()) return read(node);
  if (!reader->ExpectAtMost(node, what, node.items.size(), most)) return;
  for (const YamlNode& item : node.items) read(item);
}

// "cr-0f3…", "subnet-0f3…".
void ReadId(const YamlNode& node, std::string_view what, const std::string& prefix,
            SpecReader* reader, const std::function<void(const std::string&)>& take) {
  const auto line = reader->Line(node, what);
  if (!line) return;
  if (StartsWith(*line, prefix) && line->size() > prefix.size() && IsSafeName(*line)) {
    take(*line);
  } else {
    reader->Error(node, "'" + std::string(what) + "' cannot be " + Quoted(*line),
                  "Write its id: " + prefix + "…");
  }
}

void ReadGroup(const YamlNode& node, SpecReader* reader, AwsSpec* aws) {
  const auto line = reader->Line(node, "aws.security_groups");
  if (!line) return;
  if (line->size() <= kMostGroupName) {
    aws->security_groups.push_back(*line);
  } else {
    reader->Error(node, "a name in 'aws.security_groups' is longer than any of EC2's",
                  "Write the group's name, or its id: sg-…");
  }
}

// Names of IAM have '+', '=', ',' and '@', too.
bool IsProfile(std::string_view text) {
  return text.size() <= 128 &&
         text.find_first_not_of(
             "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"
             "+=,@") == std::string_view::npos;
}

// "projects/123/locations/global/workloadIdentityPools/POOL/providers/PROVIDER", by the project's
// number. Source: "Configure Workload Identity Federation with AWS" (IAM documentation).
bool IsIdentityProvider(std::string_view text) {
  const std::vector<std::string> words = Split(text, '/');
  const auto is_number = [](const std::string& word) {
    return !word.empty() && word.size() <= 20 &&
           word.find_first_not_of("0123456789") == std::string::npos;
  };
  const auto is_id = [](const std::string& word) {
    return word.size() >= 4 && word.size() <= 32 &&
           word.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string::npos;
  };
  return words.size() == 8 && words[0] == "projects" && is_number(words[1]) &&
         words[2] == "locations" && words[3] == "global" && words[4] == "workloadIdentityPools" &&
         is_id(words[5]) && words[6] == "providers" && is_id(words[7]);
}

}  // namespace

void ReadAws(const YamlNode& node, SpecReader* reader, AwsSpec* aws) {
  if (!reader->ExpectMap(node, "aws")) return;
  const auto placement = [=](const YamlNode& v) {
    if (const auto word = reader->Choice(v, "aws.placement", {"cluster"})) aws->placement = *word;
  };
  const auto efa = [=](const YamlNode& v) {
    if (const auto yes = reader->Boolean(v, "aws.efa")) aws->efa = *yes;
  };
  const auto metadata_tags = [=](const YamlNode& v) {
    if (const auto yes = reader->Boolean(v, "aws.metadata_tags")) aws->metadata_tags = *yes;
  };
  const auto reservation = [=](const YamlNode& v) {
    ReadId(v, "aws.capacity_reservation", "cr-", reader,
           [=](const std::string& id) { aws->capacity_reservation = id; });
  };
  const auto subnet = [=](const YamlNode& v) {
    ReadEach(v, "aws.subnet", kMostSubnets, reader, [=](const YamlNode& item) {
      ReadId(item, "aws.subnet", "subnet-", reader,
             [=](const std::string& id) { aws->subnets.push_back(id); });
    });
  };
  const auto groups = [=](const YamlNode& v) {
    ReadEach(v, "aws.security_groups", kMostGroups, reader,
             [=](const YamlNode& item) { ReadGroup(item, reader, aws); });
  };
  reader->ReadMap(node, "aws",
                  {{"placement", placement},
                   {"efa", efa},
                   {"capacity_reservation", reservation},
                   {"subnet", subnet},
                   {"security_groups", groups},
                   {"metadata_tags", metadata_tags}},
                  {{"region", "Write it behind the infra: aws/REGION"},
                   {"zone", "Write it behind the infra: aws/ZONE"},
                   {"instance_type", "Write 'resources.instance_type'"},
                   {"vpc", "Name subnets of it: 'aws.subnet'"},
                   {"market", "A capacity block is known by its 'aws.capacity_reservation'"}});
}

std::string PrintAws(const AwsSpec& aws) {
  std::string out;
  const auto list = [&](const char* key, const std::vector<std::string>& all) {
    if (all.empty()) return;
    out += "  " + std::string(key) + ":\n";
    for (const std::string& each : all) out += "    - " + JsonString(each) + "\n";
  };
  if (!aws.placement.empty()) out += "  placement: " + aws.placement + "\n";
  if (aws.efa) out += "  efa: true\n";
  if (!aws.capacity_reservation.empty()) {
    out += "  capacity_reservation: " + JsonString(aws.capacity_reservation) + "\n";
  }
  list("subnet", aws.subnets);
  list("security_groups", aws.security_groups);
  if (aws.metadata_tags) out += "  metadata_tags: true\n";
  return out.empty() ? "" : "aws:\n" + out;
}

const std::vector<PlaceSetting>& AwsSettings() {
  static const std::vector<PlaceSetting> all = {
      {kAwsProfile, "the instance profile of machines of EC2: their rights", "stoker", IsProfile,
       "Write its name in IAM, not its ARN"},
      {kAwsGoogleIdentity, "how Google knows machines of EC2: a provider of workload identity",
       "it does not, and they reach no gs://", IsIdentityProvider,
       "Write projects/NUMBER/locations/global/workloadIdentityPools/POOL/providers/PROVIDER, with "
       "the project's number"},
      {kAwsGoogleAccount, "the account of Google that they act as there", "they act as themselves",
       IsGoogleAccount, "Write its e-mail: name@project.iam.gserviceaccount.com"}};
  return all;
}

}  // namespace stoker

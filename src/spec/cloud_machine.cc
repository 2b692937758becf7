// SPDX-License-Identifier: Apache-2.0
#include "spec/cloud_machine.h"

#include <functional>

#include "base/text.h"
#include "spec/json_text.h"
#include "spec/text/infra.h"

namespace stoker {
namespace {

constexpr int64_t kGib = int64_t{1} << 30;
constexpr int64_t kMostGib = 16'384;  // of a gp3 volume
constexpr size_t kMostImage = 1024;
constexpr size_t kMostSubnets = 16;
constexpr size_t kMostGroups = 5;  // of a network interface
constexpr size_t kMostGroupName = 255;

// A path of SSM's parameters: "/aws/service/ami-amazon-linux-latest/…".
bool IsParameter(std::string_view text) {
  return text.size() > 1 && text[0] == '/' &&
         text.find_first_not_of(
             "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
             "._-/") == std::string_view::npos;
}

// Of Google: "projects/P/global/images/N", the same with "family/F", "P/N".
bool IsGoogleImage(std::string_view text) {
  const std::vector<std::string> parts = Split(text, '/');
  for (const std::string& part : parts) {
    if (!IsSafeName(part) || EndsWith(part, "-")) return false;
  }
  if (parts.size() == 2) return true;
  const bool whole =
      parts.size() >= 5 && parts[0] == "projects" && parts[2] == "global" && parts[3] == "images";
  return whole && (parts.size() == 5 || (parts.size() == 6 && parts[4] == "family"));
}

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

}  // namespace

bool IsCloud(std::string_view infra) {
  const std::string provider = ParseInfra(infra).provider;
  return provider == "ec2" || provider == "gce";
}

void ReadInstanceType(const YamlNode& node, SpecReader* reader, JobSpec* spec) {
  const auto line = reader->Line(node, "resources.instance_type");
  if (!line) return;
  if (IsSafeName(*line)) {
    spec->resources.instance_type = *line;
  } else {
    reader->Error(node, "'resources.instance_type' is not a type: " + Quoted(*line),
                  "Write one as g6.xlarge");
  }
}

void ReadImage(const YamlNode& node, SpecReader* reader, JobSpec* spec) {
  const auto line = reader->Line(node, "resources.image_id");
  if (!line) return;
  const bool parameter = StartsWith(*line, "ssm:") && IsParameter(line->substr(4));
  const bool id = StartsWith(*line, "ami-") && IsSafeName(*line);
  if (line->size() <= kMostImage && (parameter || id || IsGoogleImage(*line))) {
    spec->resources.image_id = *line;
  } else if (StartsWith(*line, "docker:")) {
    reader->Error(node, "'resources.image_id' with a container is understood but not built yet",
                  "Start the container in 'run'");
  } else {
    reader->Error(node, "'resources.image_id' is not an image: " + Quoted(*line),
                  "Write ami-…, or ssm:/aws/service/… for a parameter that holds one; of Google "
                  "PROJECT/NAME");
  }
}

void ReadDiskSize(const YamlNode& node, SpecReader* reader, JobSpec* spec) {
  const auto line = reader->Line(node, "resources.disk_size");
  if (!line) return;
  std::string text = *line;
  if (EndsWith(text, "+")) text.pop_back();
  if (text.find_first_not_of("0123456789") == std::string::npos) text += "GiB";
  const auto size = ParseSize(text);
  const int64_t gib = size.ok() ? (*size + kGib - 1) / kGib : 0;
  if (size.ok() && gib > 0 && gib <= kMostGib) {
    spec->resources.disk_gib = gib;
  } else {
    reader->Error(node, "'resources.disk_size' is not a size of a disk: " + Quoted(*line),
                  "Write 200; a number alone counts GiB, at most 16384");
  }
}

std::vector<SpecField> CloudMachineFields(SpecReader* reader, JobSpec* spec) {
  return {{"instance_type", [=](const YamlNode& v) { ReadInstanceType(v, reader, spec); }},
          {"image_id", [=](const YamlNode& v) { ReadImage(v, reader, spec); }},
          {"disk_size", [=](const YamlNode& v) { ReadDiskSize(v, reader, spec); }}};
}

void ReadAws(const YamlNode& node, SpecReader* reader, JobSpec* spec) {
  if (!reader->ExpectMap(node, "aws")) return;
  AwsSpec* aws = &spec->aws;
  const auto placement = [=](const YamlNode& v) {
    if (const auto word = reader->Choice(v, "aws.placement", {"cluster"})) aws->placement = *word;
  };
  const auto efa = [=](const YamlNode& v) {
    if (const auto yes = reader->Boolean(v, "aws.efa")) aws->efa = *yes;
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
                   {"security_groups", groups}},
                  {{"region", "Write it behind the infra: aws/REGION"},
                   {"zone", "Write it behind the infra: aws/REGION/ZONE"},
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
  return out.empty() ? "" : "aws:\n" + out;
}

void ReadGcp(const YamlNode& node, SpecReader* reader, JobSpec* spec) {
  if (!reader->ExpectMap(node, "gcp")) return;
  const auto placement = [=](const YamlNode& v) {
    if (const auto word = reader->Choice(v, "gcp.placement", {"cluster"})) {
      spec->gcp.placement = *word;
    }
  };
  reader->ReadMap(node, "gcp", {{"placement", placement}},
                  {{"region", "Write it behind the infra: gcp/REGION"},
                   {"zone", "Write it behind the infra: gcp/REGION/ZONE"},
                   {"instance_type", "Write 'resources.instance_type'"},
                   {"project", "It is a setting: stoker config set gcp.project PROJECT"},
                   {"network", "It is a setting: stoker config set gcp.network NAME"},
                   {"subnetwork", "It is a setting: stoker config set gcp.subnetwork NAME"}});
}

std::string PrintGcp(const GcpSpec& gcp) {
  return gcp.placement.empty() ? "" : "gcp:\n  placement: " + gcp.placement + "\n";
}

std::string PrintCloudMachine(const ResourcesSpec& resources) {
  std::string out;
  if (!resources.instance_type.empty()) {
    out += "  instance_type: " + JsonString(resources.instance_type) + "\n";
  }
  if (!resources.image_id.empty()) out += "  image_id: " + JsonString(resources.image_id) + "\n";
  if (resources.disk_gib) out += "  disk_size: " + std::to_string(*resources.disk_gib) + "\n";
  return out;
}

}  // namespace stoker

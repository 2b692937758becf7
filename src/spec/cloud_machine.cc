// SPDX-License-Identifier: Apache-2.0
#include "spec/cloud_machine.h"

#include "base/text.h"
#include "spec/sections.h"
#include "spec/text/infra.h"
#include "spec/text/json_text.h"

namespace stoker {
namespace {

constexpr int64_t kGib = int64_t{1} << 30;
constexpr int64_t kMostGib = 16'384;  // of a gp3 volume
constexpr size_t kMostImage = 1024;
constexpr char kContainerImage[] = "docker:";  // SkyPilot's

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

}  // namespace

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
  } else if (StartsWith(*line, kContainerImage)) {
    ReadDockerImage(node, reader, spec);
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

bool IsContainerImage(const YamlNode& node) {
  return node.IsScalar() && StartsWith(node.text, kContainerImage);
}

void ReadDockerImage(const YamlNode& node, SpecReader* reader, JobSpec* spec) {
  YamlNode image = node;
  image.text = image.text.substr(std::string_view(kContainerImage).size());
  ReadContainerImage(image, "resources.image_id", reader, spec);
}

std::vector<SpecField> CloudMachineFields(SpecReader* reader, JobSpec* spec) {
  return {{"instance_type", [=](const YamlNode& v) { ReadInstanceType(v, reader, spec); }},
          {"image_id", [=](const YamlNode& v) { ReadImage(v, reader, spec); }},
          {"disk_size", [=](const YamlNode& v) { ReadDiskSize(v, reader, spec); }}};
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

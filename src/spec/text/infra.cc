// SPDX-License-Identifier: Apache-2.0
#include "spec/text/infra.h"

#include <algorithm>

#include "base/letter_case.h"
#include "base/text.h"
#include "spec/text/spec_error.h"

namespace stoker {
namespace {

struct Kind {
  std::string_view word;
  std::string_view provider;
  bool built;
  size_t least;  // parts behind the word
  size_t most;
  std::string_view form;
  std::string_view meaning;
};

constexpr Kind kKinds[] = {
    {"local", "local", true, 0, 0, "local", "this machine"},
    {"aws", "ec2", true, 0, 2, "aws, aws/REGION or aws/REGION/ZONE", "machines of Amazon EC2"},
    {"gcp", "gce", true, 0, 2, "gcp, gcp/REGION or gcp/REGION/ZONE",
     "machines of Google Compute Engine"},
    {"slurm", "slurm", true, 0, 1, "slurm or slurm/PARTITION", "a cluster that Slurm runs"},
    {"ssh", "ssh", true, 1, 1, "ssh/POOL", "machines that ssh reaches"},
};

// Of SkyPilot and others: understood, and not built.
const std::vector<std::string>& OtherClouds() {
  static const std::vector<std::string> clouds = {
      "azure",   "cudo",       "do",         "ec2",    "fluidstack", "gce",
      "ibm",     "hyperstack", "k8s",        "lambda", "kubernetes", "nebius",
      "oci",     "scp",        "paperspace", "runpod", "vast",       "primeintellect",
      "vsphere", "*"};
  return clouds;
}

const Kind* Find(std::string_view word) {
  for (const Kind& kind : kKinds) {
    if (kind.word == word) return &kind;
  }
  return nullptr;
}

std::string AllForms() {
  std::vector<std::string> forms;
  for (const Kind& kind : kKinds) {
    if (kind.built) forms.push_back(std::string(kind.form) + ": " + std::string(kind.meaning));
  }
  return "Write " + Join(forms, ", or ");
}

Status NotBuilt(const std::string& what, const std::string& word) {
  return Status(
      Code::kInvalid,
      "'" + what + ": " + Printable(word).substr(0, 60) + "' is understood but not built yet",
      AllForms() + "; or --infra local wins over it");
}

Status Unknown(const std::string& what, const std::string& word, const std::string& first) {
  std::vector<std::string> known = OtherClouds();
  for (const Kind& kind : kKinds) known.emplace_back(kind.word);
  const std::string near = Nearest(first, known);
  return Status(Code::kInvalid, "'" + what + "' cannot be " + Quoted(word),
                near.empty() ? AllForms() : "Did you mean '" + near + "'?");
}

}  // namespace

std::vector<std::string> InfraForms() {
  std::vector<std::string> forms;
  for (const Kind& kind : kKinds) {
    if (kind.built) forms.emplace_back(kind.form);
  }
  return forms;
}

Result<std::string> CheckInfra(std::string_view what_is_set, std::string_view word) {
  const std::string what(what_is_set);
  const std::string text(word);
  std::vector<std::string> parts = Split(text, '/');
  parts[0] = LowerCase(parts[0]);
  const auto& clouds = OtherClouds();
  const Kind* kind = Find(parts[0]);
  if (kind == nullptr && std::find(clouds.begin(), clouds.end(), parts[0]) == clouds.end()) {
    return Unknown(what, text, parts[0]);
  }
  if (kind == nullptr || !kind->built) return NotBuilt(what, text);
  const size_t behind = parts.size() - 1;
  const bool named = std::all_of(parts.begin() + 1, parts.end(),
                                 [](const std::string& part) { return IsSafeName(part); });
  if (behind < kind->least || behind > kind->most || !named) {
    const std::string wrong = kind->most == 0        ? " has no regions: "
                              : behind < kind->least ? " needs more: "
                                                     : " is not followed by that: ";
    return Status(Code::kInvalid, "'" + what + "': " + parts[0] + wrong + Quoted(text),
                  "Write " + std::string(kind->form));
  }
  return Join(parts, "/");
}

Infra ParseInfra(std::string_view word) {
  const std::vector<std::string> parts = Split(word, '/');
  const Kind* kind = Find(parts[0]);
  Infra infra;
  infra.provider = kind != nullptr ? std::string(kind->provider) : parts[0];
  if (parts.size() > 1) infra.where = parts[1];
  if (parts.size() > 2) infra.within = parts[2];
  return infra;
}

}  // namespace stoker

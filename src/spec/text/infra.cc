// SPDX-License-Identifier: Apache-2.0
#include "spec/text/infra.h"

#include <algorithm>

#include "base/letter_case.h"
#include "base/text.h"
#include "spec/text/spec_error.h"

namespace stoker {
namespace {

struct KnownKind {
  std::string provider;
  InfraKind kind;
};

std::vector<KnownKind>& AllKinds() {
  static std::vector<KnownKind> all = {
      {kThisMachine, {.word = kThisMachine, .form = kThisMachine, .meaning = "this machine"}}};
  return all;
}

// Of SkyPilot and others: understood, and not built.
const std::vector<std::string>& OtherClouds() {
  static const std::vector<std::string> clouds = {
      "azure",      "cudo",   "do",         "fluidstack",     "ibm",     "hyperstack",
      "k8s",        "lambda", "kubernetes", "nebius",         "oci",     "scp",
      "paperspace", "runpod", "vast",       "primeintellect", "vsphere", "*"};
  return clouds;
}

const KnownKind* FindKind(std::string_view word) {
  for (const KnownKind& known : AllKinds()) {
    if (known.kind.word == word) return &known;
  }
  return nullptr;
}

// Others, and what stoker itself calls a provider that people call otherwise.
bool IsNotBuilt(std::string_view word) {
  const auto& clouds = OtherClouds();
  return std::find(clouds.begin(), clouds.end(), word) != clouds.end() ||
         std::any_of(AllKinds().begin(), AllKinds().end(),
                     [&](const KnownKind& known) { return known.provider == word; });
}

std::string AllForms() {
  std::vector<std::string> forms;
  for (const auto& [provider, kind] : AllKinds()) {
    forms.push_back(kind.form + std::string(": ") + kind.meaning);
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
  for (const KnownKind& one : AllKinds()) known.emplace_back(one.kind.word);
  const std::string near = Nearest(first, known);
  return Status(Code::kInvalid, "'" + what + "' cannot be " + Quoted(word),
                near.empty() ? AllForms() : "Did you mean '" + near + "'?");
}

// Regions end with their first number, and names of their zones go on behind it: us-east-1a,
// us-west-2-lax-1a, us-central1-a. Source: "Regions and Zones" of Amazon EC2 and of Compute Engine.
std::string RegionIn(const std::string& name) {
  const size_t number = name.find_first_of("0123456789");
  return name.substr(0, name.find_first_not_of("0123456789", number));
}

}  // namespace

void LearnInfra(std::string_view provider, const InfraKind& kind) {
  for (KnownKind& known : AllKinds()) {
    if (known.provider != provider) continue;
    known.kind = kind;
    return;
  }
  AllKinds().push_back({std::string(provider), kind});
}

Result<std::string> CheckInfra(std::string_view what_is_set, std::string_view word) {
  const std::string what(what_is_set);
  const std::string text(word);
  std::vector<std::string> parts = Split(text, '/');
  parts[0] = LowerCase(parts[0]);
  const KnownKind* known = FindKind(parts[0]);
  if (known == nullptr && IsNotBuilt(parts[0])) return NotBuilt(what, text);
  if (known == nullptr) return Unknown(what, text, parts[0]);
  const InfraKind& kind = known->kind;
  const size_t behind = parts.size() - 1;
  const bool named = std::all_of(parts.begin() + 1, parts.end(),
                                 [](const std::string& part) { return IsSafeName(part); });
  if (behind < kind.least || behind > kind.most || !named) {
    const std::string wrong = kind.most == 0        ? " has no regions: "
                              : behind < kind.least ? " needs more: "
                                                    : " is not followed by that: ";
    return Status(Code::kInvalid, "'" + what + "': " + parts[0] + wrong + Quoted(text),
                  "Write " + std::string(kind.form));
  }
  if (behind == 1 && kind.most == 2) {
    const std::string region = RegionIn(parts[1]);
    if (region != parts[1]) parts.insert(parts.begin() + 1, region);
  }
  return Join(parts, "/");
}

bool MakesMachines(std::string_view infra) {
  const KnownKind* known = FindKind(Split(infra, '/')[0]);
  return known != nullptr && known->kind.makes;
}

std::string InfraWordOf(std::string_view provider) {
  for (const KnownKind& known : AllKinds()) {
    if (known.provider == provider) return known.kind.word;
  }
  return std::string(provider);
}

Infra ParseInfra(std::string_view word) {
  const std::vector<std::string> parts = Split(word, '/');
  const KnownKind* known = FindKind(parts[0]);
  Infra infra;
  infra.provider = known != nullptr ? known->provider : parts[0];
  if (parts.size() > 1) infra.where = parts[1];
  if (parts.size() > 2) infra.within = parts[2];
  return infra;
}

}  // namespace stoker

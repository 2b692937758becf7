// SPDX-License-Identifier: Apache-2.0
// `secrets:` of the job file: names, and where each lies.
#include <algorithm>

#include "base/text.h"
#include "spec/parse_state.h"
#include "spec/program.h"
#include "spec/text/env_text.h"
#include "spec/text/secret_reference.h"

namespace stoker {
namespace {

constexpr size_t kMaxSecrets = 100;

Status NameGood(const Result<SecretReference>& place, Judge judge) {
  return place.ok() && judge == Judge::kSubmitted ? CheckSecretName(*place) : Status::Ok();
}

// Items of a list are names; who writes one as in a map is told how a map looks. The value may be a
// secret, and is shown only where it is a reference.
bool IsMapInList(const YamlNode& item, SpecReader* reader) {
  if (!item.IsMap()) return false;
  std::string name = "HF_TOKEN";
  std::string from = "ssm:/team/hf";
  for (const YamlEntry& entry : item.entries) {
    if (!IsEnvName(entry.key.text)) continue;
    name = entry.key.text;
    if (LooksLikeReference(entry.value.text)) from = Printable(entry.value.text);
    break;
  }
  reader->Error(item, "a list of secrets has names alone",
                "Write it without brackets: secrets: {" + name + ": " + from + "}");
  return true;
}

}  // namespace

void SetSecret(const YamlNode& key, const std::string& from, Judge judge, SpecReader* reader,
               JobSpec* spec) {
  const std::string& name = key.text;
  if (!IsEnvName(name)) {
    YamlNode place = key;
    place.text.clear();  // somebody may have written the secret itself
    reader->Error(place, "a secret's name is letters, digits and '_', and no digit first",
                  "Write the name of a variable: secrets: [HF_TOKEN]");
  } else if (judge == Judge::kSubmitted && StartsWith(name, "STOKER_")) {
    reader->Error(key, Quoted(name) + " is set by stoker itself", "Use another name");
  } else if (const auto place = ParseSecretReference(from); !from.empty() && !place.ok()) {
    reader->Error(key, place.status().message(), place.status().next());
  } else if (const Status name_good = NameGood(place, judge); !name_good.ok()) {
    reader->Error(key, name_good.message(), name_good.next());
  } else {
    std::erase_if(spec->secrets, [&](const SecretSpec& one) { return one.name == name; });
    spec->secrets.push_back({name, from});
  }
}

void ReadSecrets(const YamlNode& node, Judge judge, SpecReader* reader, JobSpec* spec) {
  if (!node.IsMap()) {
    if (!reader->ExpectList(node, "secrets", "[HF_TOKEN]")) return;
    if (!reader->ExpectAtMost(node, "secrets", node.items.size(), kMaxSecrets)) return;
    for (const YamlNode& item : node.items) {
      if (IsMapInList(item, reader)) continue;
      if (const auto name = reader->Text(item, "secrets")) SetSecret(item, "", judge, reader, spec);
    }
    return;
  }
  if (!reader->ExpectAtMost(node, "secrets", node.entries.size(), kMaxSecrets)) return;
  for (const YamlEntry& entry : node.entries) {
    const bool no_value =
        entry.value.IsNull() || (entry.value.IsScalar() && entry.value.text.empty());
    if (no_value) {
      SetSecret(entry.key, "", judge, reader, spec);
      continue;
    }
    if (entry.value.IsScalar() && LooksLikeReference(entry.value.text)) {
      SetSecret(entry.key, entry.value.text, judge, reader, spec);
      continue;
    }
    reader->Error(
        entry.key, "the secret " + Quoted(entry.key.text) + " has its value in the file",
        "Take it out and write secrets: [" + Printable(entry.key.text) +
            "]; the value is taken from your environment, or with --secret " +
            Printable(entry.key.text) +
            "=@FILE from a file. One that lies somewhere already is named: " + kReferenceForms);
  }
}

void FinishSecrets(ParseState* state) {
  JobSpec& spec = state->spec;
  for (const SecretSpec& one : spec.secrets) {
    const std::string& name = one.name;
    const auto same = [&](const auto& pair) { return pair.first == name; };
    const auto found = std::find_if(spec.envs.begin(), spec.envs.end(), same);
    if (found == spec.envs.end()) continue;
    if (state->unset.erase(name) > 0) {  // "envs: {HF_TOKEN: }" and --secret HF_TOKEN
      spec.envs.erase(found);
    } else {
      state->reader.Error(state->PlaceOf("secrets"),
                          Quoted(name) + " is both a variable and a secret", "Keep one of them");
    }
  }
}

}  // namespace stoker

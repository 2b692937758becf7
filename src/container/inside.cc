// SPDX-License-Identifier: Apache-2.0
#include "container/inside.h"

#include <algorithm>

#include "base/json_fields.h"
#include "base/text.h"
#include "container/run_options.h"

namespace stoker {
namespace {

constexpr size_t kMostEntryBytes = size_t{1} << 20;
constexpr size_t kMostUser = 128;

bool IsRoot(std::string_view word) { return word == "root" || word == "0"; }

bool IsRootUser(std::string_view user) {
  const size_t sign = user.find(':');
  return IsRoot(user.substr(0, sign)) && (sign == user.npos || IsRoot(user.substr(sign + 1)));
}

bool IsUserWord(std::string_view word) {
  return !word.empty() && word[0] != '-' && std::all_of(word.begin(), word.end(), [](char c) {
    return IsAlnum(c) || c == '_' || c == '-' || c == '.';
  });
}

// Of a version "4.3.1"; what is no version is as new as any.
bool IsOlder(std::string_view version, int64_t major, int64_t minor) {
  const std::vector<std::string> parts = Split(std::string(version), '.');
  const auto first = WholeNumber(parts[0], 0, 1 << 20);
  const auto second = WholeNumber(parts.size() > 1 ? parts[1] : "", 0, 1 << 20);
  return first && second && (*first < major || (*first == major && *second < minor));
}

bool IsOwn(const ContainerPlan& plan) {
  const std::string uid = std::to_string(plan.uid);
  return plan.spec.user == uid || plan.spec.user == uid + ":" + std::to_string(plan.gid);
}

}  // namespace

bool IsContainerUser(std::string_view text) {
  if (text.size() > kMostUser) return false;
  const size_t sign = text.find(':');
  if (!IsUserWord(text.substr(0, sign))) return false;
  return sign == text.npos || IsUserWord(text.substr(sign + 1));
}

Status CheckUser(const EngineFacts& engine, const ContainerPlan& plan) {
  const std::string& user = plan.spec.user;
  if (user.empty() || (plan.uid == 0 && !engine.rootless)) return Status::Ok();
  const bool keeps_id = !engine.rootless || engine.kind == EngineKind::kPodman;
  if (keeps_id && IsOwn(plan)) return Status::Ok();
  if (engine.rootless && IsRootUser(user)) return Status::Ok();
  const std::string own = std::to_string(plan.uid);
  return Status(
      Code::kInvalid,
      "container.user: " + user + " of " + TellEngine(engine) + " is another user than " + own +
          ", who submitted the job: its processes cannot be looked at from outside, nor "
          "its files be kept",
      engine.rootless ? "Leave it out, or write root, who is the submitter outside of the container"
                      : "Leave it out, or submit the job as root");
}

std::vector<std::string> GroupWords(const EngineFacts& engine, const ContainerPlan& plan) {
  std::vector<std::string> out;
  if (plan.uid == 0 || plan.groups.empty()) return out;  // root reads without
  if (!engine.rootless) {
    for (const int group : plan.groups) out.push_back("--group-add=" + std::to_string(group));
    return out;
  }
  // A user may map no group but its own; crun lets the process keep what it has, and podman takes
  // no other group beside. Before 3.2 it is a group of that name.
  const bool keeps = engine.kind == EngineKind::kPodman && !IsOlder(engine.version, 3, 2) &&
                     !Gives(plan.spec.run_options, "--group-add");
  if (keeps) out.push_back("--group-add=keep-groups");
  return out;
}

std::vector<std::string> UserWords(const EngineFacts& engine, const ContainerPlan& plan) {
  const std::string& user = plan.spec.user;
  if (engine.rootless) {
    const bool keep = engine.kind == EngineKind::kPodman && !IsRootUser(user);
    if (!keep) return {"--user=0:0"};  // its root is the submitter outside
    // Beside an image that has a USER it maps alone.
    return {"--userns=keep-id",
            "--user=" + std::to_string(plan.uid) + ":" + std::to_string(plan.gid)};
  }
  if (!user.empty()) return {"--user=" + user};
  // Whatever the image says: files are the submitter's.
  return {"--user=" + std::to_string(plan.uid) + ":" +
          std::to_string(plan.uid == 0 ? 0 : plan.gid)};
}

std::vector<std::string> EntrypointArgv(const EngineFacts& engine, const std::string& image) {
  return {engine.program, "image", "inspect", "--format={\"words\":{{json .Config.Entrypoint}}}",
          image};
}

Result<std::vector<std::string>> ReadEntrypoint(std::string_view text) {
  STOKER_ASSIGN(const auto object,
                json::ParseObject("the image's entry point", text, kMostEntryBytes));
  std::vector<std::string> words;
  const auto found = object.find("words");
  if (found == object.end() || found->is_null()) return words;
  if (!found->is_array()) return Status(Code::kInvalid, "the image's entry point is no list");
  for (const auto& word : *found) {
    if (!word.is_string()) return Status(Code::kInvalid, "the image's entry point is no list");
    words.push_back(word.get<std::string>());
  }
  // 'ENTRYPOINT text' of a Dockerfile.
  if (words.size() == 3 && words[1] == "-c") {
    return Status(Code::kInvalid,
                  "the image's entry point is a line for a shell, which begins no program that is "
                  "given to it: " +
                      Printable(words[2]),
                  "Write what of it is needed into 'run', and leave container.entrypoint out");
  }
  return words;
}

}  // namespace stoker

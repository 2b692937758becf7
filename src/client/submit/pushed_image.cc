// SPDX-License-Identifier: Apache-2.0
#include "client/submit/pushed_image.h"

#include <utility>
#include <vector>

#include "container/engine_words.h"
#include "images/login_folder.h"
#include "sys/container/engine_images.h"
#include "sys/container/engines.h"
#include "sys/file.h"

namespace stoker::client {
namespace {

constexpr int64_t kPushMs = 6 * 3'600'000, kUntagMs = 20'000;

std::string NextStep(const ImageRef& ref) {
  return "Log in: podman login " + ref.registry + ", docker login " + ref.registry +
         "; or 'stoker config unset registry': the image goes through the store then";
}

std::string There(const ImageRef& ref) { return ref.registry + "/" + ref.repository; }

}  // namespace

Result<std::optional<FoundImage>> LookForPushed(const RegistryAsk& ask) {
  auto found = AskRegistry(ask);
  if (found.ok()) return std::optional(std::move(*found));
  if (found.status().Is(Code::kNotFound)) return std::optional<FoundImage>();
  // Some registries refuse to tell of a repository that the first push makes: it says what is
  // wrong.
  if (found.status().Is(Code::kInvalid) && ask.login) return std::optional<FoundImage>();
  return Status(found.status().code(),
                "the image cannot be pushed to " + There(ask.ref) + ", the registry of the " +
                    "settings: " + found.status().message(),
                NextStep(ask.ref));
}

Result<FoundImage> PushImage(Client& client, const EngineFacts& engine, const std::string& name,
                             const RegistryAsk& ask) {
  const std::string remote = There(ask.ref) + ":" + ask.ref.tag;
  client.Say("pushing the image to " + remote + ", by " + TellEngine(engine) + " …");
  STOKER_TRY(sys::MakeDirs(client.places().cache, 0700));
  STOKER_ASSIGN(const sys::TempDir folder,
                sys::TempDir::Make("stoker-pack-push", client.places().cache));
  LoginFolder login(folder.path() + "/login");
  if (ask.login) STOKER_TRY(login.Write(ask.ref, *ask.login));
  const std::string daemon = login.written().empty() ? "" : DaemonOf(engine);
  for (const auto& argv : PushArgvs(engine, name, remote, login.written(), daemon)) {
    STOKER_ASSIGN(const auto said, AskEngine(argv, kPushMs));
    if (said.exit_code == 0) continue;
    const Status why = RegistryFailure(engine, "push " + remote, said.exit_code, said.err);
    return Status(why.code(), why.message(), NextStep(ask.ref));
  }
  // The name that it was given for the push; what stoker calls it stays.
  if (engine.kind == EngineKind::kDocker)
    (void)AskEngine(RemoveImageArgv(engine, remote), kUntagMs);
  auto found = AskRegistry(ask);
  return found.ok() ? std::move(found) : found.status().WithContext("after the push to " + remote);
}

}  // namespace stoker::client

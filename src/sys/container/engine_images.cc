// SPDX-License-Identifier: Apache-2.0
#include "sys/container/engine_images.h"

#include "base/text.h"
#include "container/container_spec.h"
#include "container/engine_words.h"
#include "container/image_ref.h"
#include "sys/container/engines.h"

namespace stoker {
namespace {

constexpr int64_t kLookMs = 20'000;
constexpr std::string_view kIdMark = "sha256:";

}  // namespace

Result<std::optional<ImageHere>> LookForImage(const EngineFacts& engine, const std::string& image,
                                              const sys::Stopped& stopped) {
  STOKER_ASSIGN(const sys::CommandOutput said,
                AskEngine(InspectArgv(engine, image), kLookMs, stopped));
  if (said.exit_code != 0) {
    const Status why =
        EngineFailure(engine, "look at the image " + image, said.exit_code, said.err);
    if (why.Is(Code::kUnavailable)) return why;  // its daemon is away
    return std::optional<ImageHere>();
  }
  ImageHere here;
  const std::string line = said.out.substr(0, said.out.find('\n'));
  const size_t blank = line.find(' ');
  here.id = line.substr(0, blank);
  if (StartsWith(here.id, kIdMark)) here.id.erase(0, kIdMark.size());
  if (!IsImageDigest(std::string(kIdMark) + here.id)) {
    return Status(Code::kInvalid, TellEngine(engine) + " says nothing of the image " + image +
                                      " that can be read: " + Printable(CutText(line, 200)));
  }
  // apptainer's images have no names in a registry.
  std::string list = blank == std::string::npos ? "" : line.substr(blank + 1);
  if (list.size() >= 2 && list[0] == '[') list = list.substr(1, list.size() - 2);
  for (const std::string& name : Split(list, ' ')) {
    if (IsImageName(name)) here.names.push_back(name);
  }
  return std::optional(here);
}

std::string ImageFolder(const EngineFacts& engine) {
  if (!engine.folder.empty() || engine.kind != EngineKind::kPodman) return engine.folder;
  const auto said = AskEngine({engine.program, "info", "--format={{.Store.GraphRoot}}"}, kLookMs);
  return said.ok() && said->exit_code == 0 ? said->out.substr(0, said->out.find('\n')) : "";
}

std::string DaemonOf(const EngineFacts& engine) {
  if (engine.kind != EngineKind::kDocker) return "";
  const auto said = AskEngine(
      {engine.program, "context", "inspect", "--format={{.Endpoints.docker.Host}}"}, kLookMs);
  return said.ok() && said->exit_code == 0 ? said->out.substr(0, said->out.find('\n')) : "";
}

std::string FixedImage(const std::string& image, const ImageHere& here) {
  const auto ref = ParseImageRef(image);
  for (const std::string& name : here.names) {
    const auto known = ref ? ParseImageRef(name) : std::nullopt;
    if (!known || known->registry != ref->registry || known->repository != ref->repository) {
      continue;
    }
    if (ref->digest.empty() || ref->digest == known->digest)
      return PinnedImage(*ref, known->digest);
  }
  return std::string(kIdMark) + here.id;
}

}  // namespace stoker

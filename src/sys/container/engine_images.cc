// SPDX-License-Identifier: Apache-2.0
#include "sys/container/engine_images.h"

#include <cstdlib>

#include "base/text.h"
#include "container/container_spec.h"
#include "container/image_ref.h"
#include "sys/container/engines.h"
#include "sys/program_lookup.h"

namespace stoker {
namespace {

constexpr int64_t kLookMs = 20'000;
constexpr std::string_view kIdMark = "sha256:";

}  // namespace

Result<std::optional<ImageHere>> LookForImage(const EngineFacts& engine, const std::string& image) {
  STOKER_ASSIGN(const sys::CommandOutput said, AskEngine(InspectArgv(engine, image), kLookMs));
  if (said.exit_code != 0) return std::optional<ImageHere>();
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

std::optional<ImageHere> LookForImage(const std::string& wanted, const std::string& image) {
  const char* own = std::getenv("PATH");
  const std::string path = own != nullptr ? own : "/usr/local/bin:/usr/bin:/bin";
  for (const EngineKind kind : {EngineKind::kPodman, EngineKind::kDocker}) {
    if (!wanted.empty() && wanted != EngineName(kind)) continue;
    const auto program = FindProgram(EngineName(kind), path, "/");
    if (!program.ok()) continue;
    const EngineFacts engine{kind, *program};
    const auto here = LookForImage(engine, image);
    if (here.ok() && *here) return **here;
  }
  return std::nullopt;
}

std::string ImageFolder(const EngineFacts& engine) {
  if (!engine.folder.empty() || engine.kind != EngineKind::kPodman) return engine.folder;
  const auto said = AskEngine({engine.program, "info", "--format={{.Store.GraphRoot}}"}, kLookMs);
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

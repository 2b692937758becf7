// SPDX-License-Identifier: Apache-2.0
#include "client/submit/image.h"

#include <optional>
#include <string>
#include <utility>

#include "base/text.h"
#include "client/submit/registry_login.h"
#include "container/image_ref.h"
#include "images/registry_client.h"
#include "sys/container/engine_images.h"
#include "sys/container/engine_notes.h"
#include "sys/container/engines.h"

namespace stoker::client {
namespace {

Result<FoundImage> Ask(const ContainerSpec& container, const ImageRef& ref,
                       const LocalPrivate& own) {
  STOKER_ASSIGN(const RegistryAsk ask, AskAs(container, ref, own));
  return AskRegistry(ask);
}

// Nullopt: it has none, or does not say.
Result<std::optional<std::string>> LookHere(const std::string& state, const std::string& wanted,
                                            const std::string& image) {
  const std::optional<std::string> unknown;
  const EngineNotes notes(state);
  const auto known = notes.Engine(wanted);
  const auto engine = known ? *known : ChooseEngine(wanted);
  // Who is away may be back when the job begins.
  if (engine.status().Is(Code::kInvalid)) return engine.status().WithContext("container");
  // apptainer's files have no names.
  if (!engine.ok() || !KeepsBooks(engine->kind)) return unknown;
  const auto found = notes.Look(*engine, image);
  if (!found.ok() || !*found) return unknown;
  return std::optional(FixedImage(image, **found));
}

Status AskItsRegistry(Client& client, const JobSpec& spec, const LocalPrivate& own, Job* job) {
  const std::string& image = spec.container.image;
  const auto ref = ParseImageRef(image);
  if (!ref) return Status::Ok();  // of an engine alone: its machine knows
  const auto found = Ask(spec.container, *ref, own);
  if (found.ok()) {
    job->image = PinnedImage(*ref, found->digest);
    job->image_bytes = found->bytes;
    return Status::Ok();
  }
  if (found.status().Is(Code::kInvalid) || found.status().Is(Code::kNotFound)) {
    return found.status().WithContext("container");
  }
  client.Say("which image " + Printable(image) + " is could not be asked here (" +
             found.status().message() + "): the job's first node finds out");
  return Status::Ok();
}

}  // namespace

Result<ImageLook> FixImage(Client& client, const JobSpec& spec, const LocalPrivate& own, Job* job) {
  const std::string& image = spec.container.image;
  if (image.empty() || !spec.container.dockerfile.empty()) return ImageLook();
  const bool here = LocalityOf(*job, "") == Locality::kAll;
  // An id is of one machine's engine.
  if (!job->image.empty() && (here || !IsImageDigest(job->image))) return ImageLook();
  job->image.clear();
  job->image_bytes = 0;
  if (here) {
    return std::async(std::launch::async, LookHere, client.places().state, spec.container.engine,
                      image);
  }
  STOKER_TRY(AskItsRegistry(client, spec, own, job));
  return ImageLook();
}

Status FinishImage(Client& client, const JobSpec& spec, const LocalPrivate& own, ImageLook look,
                   Job* job) {
  if (!look.valid()) return Status::Ok();
  STOKER_ASSIGN(auto here, look.get());
  if (here) {
    job->image = std::move(*here);
    return Status::Ok();
  }
  return AskItsRegistry(client, spec, own, job);
}

}  // namespace stoker::client

// SPDX-License-Identifier: Apache-2.0
#include "node/attempt/image.h"

#include <optional>

#include "base/text.h"
#include "container/container_spec.h"
#include "container/engine_words.h"
#include "container/image_ref.h"
#include "ledger/paths.h"
#include "node/env/tail_sink.h"
#include "sys/container/engine_images.h"
#include "sys/container/engines.h"
#include "sys/task/process_runner.h"

namespace stoker::node {
namespace {

// Not in an enclosure of the usual kind: the client of an ordinary user needs more than the one
// user id that there is in it.
Status Pull(AttemptContext& here, ShellStep& step, const EngineFacts& engine,
            const std::string& image) {
  here.log.Does("pulling the image " + image);
  here.log.Say("stoker: the image " + image +
               " is not on this machine: " + EngineName(engine.kind) + " pulls it");
  const auto runner = MakeProcessRunner({"subreaper", "/proc/self/exe"});
  TaskCommand command;
  command.argv = PullArgv(engine, image);
  for (const std::string& entry : EngineEnvironment()) {
    const size_t sign = entry.find('=');
    if (sign != std::string::npos && sign > 0) {
      command.env.emplace_back(entry.substr(0, sign), entry.substr(sign + 1));
    }
  }
  command.cwd = "/";
  command.out = command.err = LogStream::kSystem;
  TailSink tail(here.log.Sink());
  step.Use(*runner);
  auto exit = step.Run(command, tail);
  step.Use(here.runner);
  if (!exit.ok()) return exit.status();
  if (exit->ShellCode() == 0) return Status::Ok();
  return EngineFailure(engine, "pull " + image, exit->ShellCode(), tail.Tail());
}

// What the submitter, or a node before this one, found the job's image to be; "" = nobody yet.
Result<std::string> KnownImage(AttemptContext& here) {
  const Job& job = here.config.job;
  std::string image = job.image;
  if (image.empty()) {
    const auto object = here.store.Get(paths::Image(job.id));
    if (object.status().Is(Code::kNotFound)) return std::string();
    STOKER_TRY(object.status());
    image = object->data;
  }
  if (IsImageName(image)) return image;
  return Status(Code::kCorrupt, "the ledger names an image for this job that is none: " +
                                    Printable(CutText(image, 100)));
}

// `image` unless another node was first; its image then.
Result<std::string> FixForJob(AttemptContext& here, const std::string& image) {
  const auto put = here.store.Put(paths::Image(here.config.job.id), image, Condition::Absent());
  if (put.ok()) return image;
  if (!put.status().Is(Code::kExists) && !put.status().transient()) return put.status();
  STOKER_ASSIGN(const std::string known, KnownImage(here));
  return known.empty() ? Result<std::string>(put.status()) : known;
}

Result<ImageHere> Have(AttemptContext& here, ShellStep& step, const EngineFacts& engine,
                       const std::string& image) {
  STOKER_ASSIGN(std::optional<ImageHere> found, LookForImage(engine, image));
  if (!found) {
    if (IsImageDigest(image)) {
      return Status(Code::kInvalid,
                    "the image " + here.config.spec.container.image +
                        " that this job began with (" + image +
                        ") is not on this machine any more, and in no registry",
                    "Build it anew, and submit the job anew");
    }
    STOKER_TRY(Pull(here, step, engine, image));
    STOKER_ASSIGN(found, LookForImage(engine, image));
  }
  if (found) return *found;
  return Status(Code::kUnavailable, TellEngine(engine) + " pulled " + image + ", and has it not");
}

}  // namespace

Result<BroughtImage> BringImage(AttemptContext& here, ShellStep& step, const EngineFacts& engine) {
  STOKER_ASSIGN(std::string image, KnownImage(here));
  if (!image.empty()) {
    STOKER_ASSIGN(const ImageHere found, Have(here, step, engine, image));
    return BroughtImage{image, found.id};
  }
  const std::string& asked = here.config.spec.container.image;
  STOKER_ASSIGN(ImageHere found, Have(here, step, engine, asked));
  image = FixedImage(asked, found);
  // One without a registry may be another on each box.
  if (IsImageDigest(image)) return BroughtImage{asked, found.id};
  STOKER_ASSIGN(const std::string fixed, FixForJob(here, image));
  if (fixed != image) {
    STOKER_ASSIGN(found, Have(here, step, engine, fixed));
  }
  return BroughtImage{fixed, found.id};
}

}  // namespace stoker::node

// SPDX-License-Identifier: Apache-2.0
#include "node/attempt/image.h"

#include <optional>
#include <utility>
#include <vector>

#include "base/text.h"
#include "container/container_spec.h"
#include "container/engine_words.h"
#include "container/image_ref.h"
#include "container/registry_login.h"
#include "images/login_folder.h"
#include "images/logins.h"
#include "images/role/role_login.h"
#include "images/role/role_registry.h"
#include "ledger/blobs.h"
#include "ledger/paths.h"
#include "net/system.h"
#include "node/env/tail_sink.h"
#include "sys/container/engine_images.h"
#include "sys/container/engine_notes.h"
#include "sys/container/engines.h"
#include "sys/file.h"
#include "sys/task/process_runner.h"
#include "sys/watch/checkpoint_files.h"
#include "sys/watch/take_moment.h"
#include "transfer/blob_transfer.h"

namespace stoker::node {
namespace {

// Not in an enclosure of the usual kind: the client of an ordinary user needs more than the one
// user id that there is in it. `host`: where its daemon is; "" = where it looks itself.
Status RunClient(AttemptContext& here, ShellStep& step, const EngineFacts& engine,
                 const std::string& what, std::vector<std::string> argv,
                 const std::string& host = "") {
  const auto runner = MakeProcessRunner({"subreaper", "/proc/self/exe"});
  TaskCommand command;
  command.argv = std::move(argv);
  for (const std::string& entry : EngineEnvironment()) {
    const size_t sign = entry.find('=');
    if (sign != std::string::npos && sign > 0) {
      command.env.emplace_back(entry.substr(0, sign), entry.substr(sign + 1));
    }
  }
  if (!host.empty()) {
    std::erase_if(command.env, [](const auto& one) { return one.first == "DOCKER_HOST"; });
    command.env.emplace_back("DOCKER_HOST", host);
  }
  command.cwd = "/";
  command.out = command.err = LogStream::kSystem;
  TailSink tail(here.log.Sink());
  step.Use(*runner);
  auto exit = step.Run(command, tail);
  step.Use(here.runner);
  if (!exit.ok()) return exit.status();
  if (exit->ShellCode() == 0) return Status::Ok();
  return EngineFailure(engine, what, exit->ShellCode(), tail.Tail());
}

Status Pull(AttemptContext& here, ShellStep& step, const EngineFacts& engine,
            const std::string& image, const std::string& login_dir) {
  here.log.Does("pulling the image " + image);
  here.log.Say("stoker: the image " + image +
               " is not on this machine: " + EngineName(engine.kind) + " pulls it");
  return RunClient(here, step, engine, "pull " + image, PullArgv(engine, image, login_dir),
                   login_dir.empty() ? "" : DaemonOf(engine));
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

// By what the machine may do, where the registry is a cloud's and the engine has no login there.
std::optional<RegistryLogin> LoginOfMachine(AttemptContext& here, const EngineFacts& engine,
                                            const ImageRef& ref) {
  const auto registry = FindRoleRegistry(ref.registry);
  if (!registry || FindLogin(ref, SystemVariable).login) return std::nullopt;
  const std::string at = "at " + ref.registry + " by this machine's role";
  if (engine.kind == EngineKind::kApptainer) {
    here.log.Say("stoker: apptainer is given no login " + at + ": podman and docker are");
    return std::nullopt;
  }
  here.log.Does("asking for a login " + at);
  const auto login = LoginByRole(*registry);
  if (login.ok()) {
    here.log.Say("stoker: a login " + at);
    return *login;
  }
  here.log.Say("stoker: there is no login " + at +
               ", the image is pulled without one: " + login.status().ToString());
  return std::nullopt;
}

// What is pulled is smaller than what becomes of it: less room than that is surely too little.
Status CheckRoom(int64_t bytes, const EngineFacts& engine) {
  const std::string folder = ImageFolder(engine);
  const int64_t room = folder.empty() ? -1 : FreeBytes(folder);
  if (room < 0 || bytes <= room) return Status::Ok();
  return Status(Code::kInvalid,
                "the disk has no room for the image: it has " + HumanSize(bytes) + " packed, and " +
                    folder + " has " + HumanSize(room) + " left",
                "Make room there, or name a smaller image");
}

// The archive of an image that was built where the job was submitted.
Status Load(AttemptContext& here, ShellStep& step, const EngineFacts& engine) {
  const std::string& blob = here.config.job.image_blob;
  constexpr char kArchive[] = "image.tar";
  const std::string path = here.config.dir + "/" + kArchive;
  here.log.Does("fetching the image");
  STOKER_ASSIGN(const BlobCopy copy, FindBlob(here.ledger, blob));
  STOKER_TRY(CheckRoom(copy.size, engine));
  here.log.Say("stoker: the image " + here.config.job.image + " (" + HumanSize(copy.size) +
               ") comes from the store");
  STOKER_ASSIGN(const auto writer, OpenDirectoryWriter(here.config.dir));
  Status done = FetchBlobFile(here.ledger, here.movers, blob, kArchive, *writer);
  if (done.ok()) {
    here.log.Does("loading the image");
    done = RunClient(here, step, engine, "load " + here.config.job.image, LoadArgv(engine, path));
  }
  (void)sys::RemoveTree(path);
  return done;
}

// Brings it where it is not here.
Result<ImageHere> Have(AttemptContext& here, ShellStep& step, const EngineFacts& engine,
                       const std::string& image, const std::optional<RegistryLogin>& login) {
  const EngineNotes notes(here.config.state_dir);
  STOKER_ASSIGN(std::optional<ImageHere> found, notes.Look(engine, image));
  if (!found) {
    if (here.config.job.image == image && !here.config.job.image_blob.empty()) {
      STOKER_TRY(Load(here, step, engine));
    } else if (const auto ref = ParseImageRef(image)) {
      // Layers that the engine has already count in it: the engine has the last word.
      const Status room = CheckRoom(here.config.job.image_bytes, engine);
      if (!room.ok()) here.log.Say("stoker: " + room.message() + ": it is pulled all the same");
      LoginFolder folder(here.config.dir + "/login");
      const auto used = login ? login : LoginOfMachine(here, engine, *ref);
      if (used) STOKER_TRY(folder.Write(*ref, *used));
      STOKER_TRY(Pull(here, step, engine, image, folder.written()));
    } else {
      return Status(Code::kInvalid,
                    "the image " + here.config.spec.container.image +
                        " that this job began with (" + image +
                        ") is not on this machine any more, and in no registry",
                    "Build it anew, and submit the job anew");
    }
    STOKER_ASSIGN(found, notes.Look(engine, image));
  }
  if (found) return *found;
  return Status(Code::kUnavailable, TellEngine(engine) + " pulled " + image + ", and has it not");
}

}  // namespace

std::optional<BroughtImage> RecallImage(AttemptContext& here, const EngineFacts& engine) {
  const auto image = KnownImage(here);
  if (!image.ok() || image->empty()) return std::nullopt;
  const auto known = EngineNotes(here.config.state_dir).Recall(engine, *image);
  if (!known) return std::nullopt;
  return BroughtImage{*image, known->id};
}

Result<BroughtImage> BringImage(AttemptContext& here, ShellStep& step, const EngineFacts& engine,
                                const contract::Environment& secrets) {
  const auto login = LoginOfJob(here.config.spec.container.login, secrets);
  STOKER_ASSIGN(std::string image, KnownImage(here));
  if (!image.empty()) {
    STOKER_ASSIGN(const ImageHere found, Have(here, step, engine, image, login));
    return BroughtImage{image, found.id};
  }
  const std::string& asked = here.config.spec.container.image;
  STOKER_ASSIGN(ImageHere found, Have(here, step, engine, asked, login));
  image = FixedImage(asked, found);
  // One without a registry may be another on each box.
  if (IsImageDigest(image)) return BroughtImage{asked, found.id};
  STOKER_ASSIGN(const std::string fixed, FixForJob(here, image));
  if (fixed != image) {
    STOKER_ASSIGN(found, Have(here, step, engine, fixed, login));
  }
  return BroughtImage{fixed, found.id};
}

}  // namespace stoker::node

// SPDX-License-Identifier: Apache-2.0
#include "node/attempt/image.h"

#include <functional>
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
#include "node/attempt/container_user.h"
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

// What a client that failed has said, with its exit code.
using Failed = std::function<Status(int, const std::string&)>;

// Not in an enclosure of the usual kind: the client of an ordinary user needs more than the one
// user id that there is in it. `host`: where its daemon is; "" = where it looks itself.
Status RunClient(AttemptContext& here, ShellStep& step, std::vector<std::string> argv,
                 const std::string& host, const Failed& failed) {
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
  return exit->ShellCode() == 0 ? Status::Ok() : failed(exit->ShellCode(), tail.Tail());
}

// Whether the engine has it.
Result<std::optional<ImageHere>> Look(AttemptContext& here, ShellStep& step,
                                      const EngineFacts& engine, const std::string& image) {
  std::optional<ImageHere> found;
  STOKER_TRY(AwaitEngine(here, step, [&]() -> Status {
    STOKER_ASSIGN(found, EngineNotes(here.config.state_dir).Look(engine, image, [&step] {
      return step.cancelled();
    }));
    return Status::Ok();
  }));
  return found;
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
// Nullopt: there is none to be had. Errors, which are said: it could not be asked for.
Result<std::optional<RegistryLogin>> LoginOfMachine(AttemptContext& here, const EngineFacts& engine,
                                                    const ImageRef& ref) {
  const auto registry = FindRoleRegistry(ref.registry);
  if (!registry || FindLogin(ref, SystemVariable).login) return std::optional<RegistryLogin>();
  const std::string at = "at " + ref.registry + " by this machine's role";
  if (engine.kind == EngineKind::kApptainer) {
    here.log.Say("stoker: apptainer is given no login " + at + ": podman and docker are");
    return std::optional<RegistryLogin>();
  }
  here.log.Does("asking for a login " + at);
  auto login = LoginByRole(*registry);
  if (login.ok()) {
    here.log.Say("stoker: a login " + at);
    return std::optional(std::move(*login));
  }
  here.log.Say("stoker: there is no login " + at +
               ", the image is pulled without one: " + login.status().ToString());
  return login.status();
}

// Pulls one image, as often as it takes.
class Puller {
 public:
  // `login`: of the job; all must outlive it.
  Puller(AttemptContext& here, ShellStep& step, const EngineFacts& engine, const std::string& image,
         const ImageRef& ref, const std::optional<RegistryLogin>& login)
      : here_(here), step_(step), engine_(engine), image_(image), ref_(ref), login_(login) {}

  Result<ImageHere> Pull() {
    here_.log.Say("stoker: the image " + image_ +
                  " is not on this machine: " + EngineName(engine_.kind) + " pulls it");
    STOKER_TRY(AwaitEngine(here_, step_, [this] {
      return here_.registry_patience.Await(
          step_, [this](const std::string& line) { here_.log.Say("stoker: " + line); },
          [this] { return Once(); });
    }));
    here_.registry_patience.Reset();
    return *found_;
  }

 private:
  Status Once() {
    Status unknown_login;
    if (!login_) {
      auto own = LoginOfMachine(here_, engine_, ref_);
      if (own.ok()) login_ = std::move(*own);
      unknown_login = own.status();
    }
    here_.log.Does("pulling the image " + image_);
    const Status pulled = RunIt();
    // Who could not be asked for the login may be asked soon.
    if (pulled.Is(Code::kInvalid) && unknown_login.transient()) {
      return Status(Code::kBusy, pulled.message(), unknown_login.ToString());
    }
    STOKER_TRY(pulled);
    STOKER_ASSIGN(found_, Look(here_, step_, engine_, image_));
    if (found_) return Status::Ok();
    return Status(Code::kBusy, TellEngine(engine_) + " pulled " + image_ + ", and has it not");
  }

  Status RunIt() {
    LoginFolder folder(here_.config.dir + "/login");
    if (login_) STOKER_TRY(folder.Write(ref_, *login_));
    const std::string daemon = folder.written().empty() ? "" : DaemonOf(engine_);
    return RunClient(here_, step_, PullArgv(engine_, image_, folder.written()), daemon,
                     [this](int code, const std::string& said) {
                       return PullFailure(engine_, image_, code, said);
                     });
  }

  AttemptContext& here_;
  ShellStep& step_;
  const EngineFacts& engine_;
  const std::string& image_;
  const ImageRef& ref_;
  std::optional<RegistryLogin> login_;
  std::optional<ImageHere> found_;
};

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
    const std::string what = "load " + here.config.job.image;
    done = AwaitEngine(here, step, [&] {
      return RunClient(here, step, LoadArgv(engine, path), "",
                       [&](int code, const std::string& said) {
                         return EngineFailure(engine, what, code, said);
                       });
    });
  }
  (void)sys::RemoveTree(path);
  return done;
}

// Brings it where it is not here.
Result<ImageHere> Have(AttemptContext& here, ShellStep& step, const EngineFacts& engine,
                       const std::string& image, const std::optional<RegistryLogin>& login) {
  STOKER_ASSIGN(std::optional<ImageHere> found, Look(here, step, engine, image));
  if (found) return *found;
  if (here.config.job.image == image && !here.config.job.image_blob.empty()) {
    STOKER_TRY(Load(here, step, engine));
    STOKER_ASSIGN(found, Look(here, step, engine, image));
    if (found) return *found;
    return Status(Code::kInvalid, TellEngine(engine) + " loaded " + image + ", and has it not",
                  "See what removes images on the machine; 'stoker retry' loads it again");
  }
  const auto ref = ParseImageRef(image);
  if (!ref) {
    return Status(Code::kInvalid,
                  "the image " + here.config.spec.container.image + " that this job began with (" +
                      image + ") is not on this machine any more, and in no registry",
                  "Build it anew, and submit the job anew");
  }
  // Layers that the engine has already count in it: the engine has the last word.
  const Status room = CheckRoom(here.config.job.image_bytes, engine);
  if (!room.ok()) here.log.Say("stoker: " + room.message() + ": it is pulled all the same");
  return Puller(here, step, engine, image, *ref, login).Pull();
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

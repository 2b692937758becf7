// SPDX-License-Identifier: Apache-2.0
#include "client/submit/built_image.h"

#include <fcntl.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <utility>

#include "base/digest.h"
#include "base/text.h"
#include "client/open/own_binaries.h"
#include "client/submit/pushed_image.h"
#include "client/submit/registry_login.h"
#include "container/apptainer_argv.h"
#include "container/container_spec.h"
#include "container/engine_words.h"
#include "container/image_ref.h"
#include "images/registry_client.h"
#include "ledger/blobs.h"
#include "pack/extract.h"
#include "sys/container/engine_images.h"
#include "sys/container/engines.h"
#include "sys/container/images_left.h"
#include "sys/file.h"

namespace stoker::client {
namespace {

constexpr int64_t kBuildMs = 6 * 3'600'000;
constexpr size_t kLastWords = 2000;

// What decides what is built: the code, which of its files says how, and for which machines.
std::string NameOfBuilt(const JobSpec& spec, const Job& job) {
  const std::string key =
      Sha256Hex(job.code_digest + "\n" + spec.container.dockerfile + "\n" + OwnArchitecture());
  return std::string(kBuiltImage) + ":" + key.substr(0, 32);
}

Status AskLong(const EngineFacts& engine, const std::string& what,
               const std::vector<std::string>& argv) {
  const auto said = AskEngine(argv, kBuildMs);
  STOKER_TRY(said.status());
  if (said->exit_code == 0) return Status::Ok();
  std::string last = said->out + said->err;
  if (last.size() > kLastWords) last.erase(0, last.size() - kLastWords);
  return RegistryFailure(engine, what, said->exit_code, last);
}

// Exactly what the job's nodes get: what is not packed is not in the image either.
Status Build(Client& client, Ledger& ledger, const EngineFacts& engine, const JobSpec& spec,
             const Job& job, const std::string& name) {
  STOKER_TRY(sys::MakeDirs(client.places().cache, 0700));
  STOKER_ASSIGN(const sys::TempDir folder,
                sys::TempDir::Make("stoker-pack-build", client.places().cache));
  const std::string archive = folder.path() + "/code.tar.zst";
  {
    STOKER_ASSIGN(const sys::ScopedFd out, sys::Open(archive, O_WRONLY | O_CREAT | O_EXCL, 0600));
    STOKER_TRY(FetchBlob(ledger, job.code_digest, [&](std::string_view piece) {
      return sys::WriteAll(out.get(), piece, archive);
    }));
  }
  const std::string context = folder.path() + "/context";
  STOKER_TRY(pack::ExtractFile(archive, context));
  const std::string& file = spec.container.dockerfile;
  if (!sys::FileExists(context + "/" + file)) {
    return Status(Code::kInvalid, "container.dockerfile: the job's code has no " + Printable(file),
                  "Correct its path, which counts from the work directory; what git ignores is not "
                  "packed");
  }
  client.Say("building the image of " + Printable(file) + ", by " + TellEngine(engine) + " …");
  return AskLong(engine, "build " + file, BuildArgv(engine, name, context, file));
}

Result<std::string> DigestOfArchive(const std::string& path) {
  STOKER_ASSIGN(const sys::ScopedFd fd, sys::Open(path, O_RDONLY));
  Sha256 sum;
  std::string buffer(size_t{1} << 20, '\0');
  for (;;) {
    const ssize_t got = ::read(fd.get(), buffer.data(), buffer.size());
    if (got < 0) return Status(Code::kUnavailable, "cannot read " + path);
    if (got == 0) return sum.Hex();
    sum.Update({buffer.data(), static_cast<size_t>(got)});
  }
}

// Of an image that this machine has stored before: its blob, where the store still has a young one.
std::string StoredBefore(Ledger& ledger, const std::string& note) {
  const auto digest = sys::ReadFile(note, 100);
  if (!digest.ok() || !IsSafeName(*digest)) return "";
  const auto copy = FindBlob(ledger, *digest);
  return copy.ok() && copy->age < kBlobPeriod ? *digest : "";
}

Result<std::string> StoreArchive(Client& client, Ledger& ledger, const EngineFacts& engine,
                                 const std::string& name) {
  const std::string notes = client.places().cache + "/built-images";
  STOKER_TRY(sys::MakeDirs(notes, 0700));
  const std::string note =
      notes + "/" + Sha256Hex(ledger.id() + "\n" + EngineName(engine.kind) + "\n" + name);
  if (std::string known = StoredBefore(ledger, note); !known.empty()) return known;
  STOKER_ASSIGN(const sys::TempDir folder,
                sys::TempDir::Make("stoker-pack-image", client.places().cache));
  const std::string path = folder.path() + "/image.tar";
  client.Progress("packing the image …");
  STOKER_TRY(AskLong(engine, "save " + name, SaveArgv(engine, name, path)));
  STOKER_ASSIGN(std::string digest, DigestOfArchive(path));
  client.Progress("storing the image …");
  const Status stored = StoreFile(ledger, digest, path);
  client.Progress("");
  STOKER_TRY(stored);
  (void)sys::WriteFileAtomic(note, digest, 0600, false);
  return digest;
}

// Nodes pull it, as they do an image that was pushed by hand.
Status TakePushed(const ImageRef& ref, const FoundImage& found, Job* job) {
  job->image = PinnedImage(ref, found.digest);
  job->image_bytes = found.bytes;
  job->image_blob.clear();
  return Status::Ok();
}

}  // namespace

Status BuildImage(Client& client, const JobSpec& spec, const LocalPrivate& own, Job* job) {
  if (spec.container.dockerfile.empty()) return Status::Ok();
  if (job->code_digest.empty()) {
    return Status(Code::kInvalid, "container.dockerfile: the job has no work directory",
                  "Name the folder that it lies in: workdir: .");
  }
  STOKER_ASSIGN(Ledger * ledger, client.ledger());
  STOKER_ASSIGN(const Settings* settings, client.settings());
  const std::string name = NameOfBuilt(spec, *job);
  const bool here = LocalityOf(*job, "") == Locality::kAll;
  // A retry's.
  if (job->image == name && !here && !job->image_blob.empty()) return Status::Ok();
  if (!here && ParseImageRef(job->image)) return Status::Ok();
  std::optional<RegistryAsk> pushes;
  if (!here && !settings->registry.empty()) {
    const auto ref = ParseImageRef(settings->registry + name.substr(name.rfind(':')));
    if (!ref) return Status(Code::kInternal, "the setting 'registry' names none");
    STOKER_ASSIGN(pushes, AskAs(spec.container, *ref, own));
    STOKER_ASSIGN(const auto there, LookForPushed(*pushes));
    if (there) return TakePushed(pushes->ref, *there, job);
  }
  const auto chosen = ChooseEngine(spec.container.engine);
  if (!chosen.ok()) {
    return chosen.status().WithContext("container.dockerfile: this machine builds the image");
  }
  if (chosen->kind == EngineKind::kApptainer) STOKER_TRY(CheckForApptainer(spec.container));
  STOKER_ASSIGN(const auto found, LookForImage(*chosen, name));
  if (!found) STOKER_TRY(Build(client, *ledger, *chosen, spec, *job, name));
  NoteImageUse(client.places().state, name);
  if (pushes) {
    STOKER_ASSIGN(const FoundImage pushed, PushImage(client, *chosen, name, *pushes));
    return TakePushed(pushes->ref, pushed, job);
  }
  job->image = name;
  job->image_blob.clear();
  if (here) return Status::Ok();
  STOKER_ASSIGN(job->image_blob, StoreArchive(client, *ledger, *chosen, name));
  return Status::Ok();
}

}  // namespace stoker::client

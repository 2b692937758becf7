// SPDX-License-Identifier: Apache-2.0
#include "client/submit/submit.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <functional>

#include "base/digest.h"
#include "base/text.h"
#include "client/clear/removals.h"
#include "client/open/late_cancel.h"
#include "client/open/meter.h"
#include "client/open/own_binaries.h"
#include "client/open/reserve.h"
#include "client/submit/allocation.h"
#include "client/submit/built_image.h"
#include "client/submit/clone.h"
#include "client/submit/image.h"
#include "client/submit/named_here.h"
#include "client/submit/offers.h"
#include "client/submit/packed_text.h"
#include "client/submit/packing_notes.h"
#include "client/submit/pins.h"
#include "client/submit/private_env.h"
#include "ledger/paths.h"
#include "ledger/records.h"
#include "pack/archive.h"
#include "pack/listing.h"
#include "provider/job_secrets.h"
#include "spec/print.h"
#include "spec/text/git/repository.h"
#include "spec/text/infra.h"
#include "sys/file.h"

namespace stoker::client {
namespace {

constexpr int64_t kAskAbove = int64_t{1} << 30;
constexpr int64_t kPackedInMemory = int64_t{16} << 20;
constexpr size_t kLookedAt = 1 << 20;  // of each file, as packing does
constexpr int64_t kTellUploadAbove = int64_t{64} << 20;

struct Packed {
  std::string digest;
  std::vector<LeftOut> left_behind;
  std::string note;
  std::string diff;  // against the commit, for those who want to know later what really ran
  std::optional<GitOrigin> git;
  std::string downloads;  // as Job's
  std::vector<Pin> pins;
};

// A home directory as work directory must not pack the ledger into itself.
std::vector<std::string> OwnFolders(Client& client) {
  std::vector<std::string> folders;
  std::vector<std::string> candidates = {client.places().state, client.places().cache};
  const auto store = client.store_url();
  if (store.ok()) candidates.push_back(*store);
  for (const std::string& folder : candidates) {
    const auto real = sys::RealPath(folder);
    if (real.ok()) folders.push_back(*real);
  }
  return folders;
}

// Where an archive is made: in memory where it cannot become large, else in a folder.
struct PackingPlace {
  std::optional<sys::TempDir> folder;
  sys::ScopedFd file;
  std::string path;
};

// The folder does not lie in what is packed (a home directory holds the cache).
Result<sys::TempDir> PackingFolder(Client& client, const std::string& root) {
  STOKER_TRY(sys::MakeDirs(client.places().cache, 0700));
  STOKER_ASSIGN(const std::string cache, sys::RealPath(client.places().cache));
  for (const std::string& place : {cache, std::string("/tmp"), std::string("/dev/shm")}) {
    if (!StartsWith(place + "/", root + "/") && sys::DirExists(place)) {
      return sys::TempDir::Make("stoker-pack", place);
    }
  }
  return Status(
      Code::kInvalid,
      "the work directory " + root + " contains every place where its archive could be made",
      "Choose a smaller one with --workdir");
}

Result<PackingPlace> MakePackingPlace(Client& client, const pack::Listing& listing) {
  PackingPlace place;
  if (listing.bytes <= kPackedInMemory) {
    place.file.Reset(memfd_create("stoker-pack", MFD_CLOEXEC));
    place.path = "/proc/self/fd/" + std::to_string(place.file.get());
    if (place.file.valid() && sys::FileExists(place.path)) return place;
  }
  STOKER_ASSIGN(place.folder, PackingFolder(client, listing.root));
  place.path = place.folder->path() + "/code.tar.zst";
  STOKER_ASSIGN(place.file, sys::Open(place.path, O_WRONLY | O_CREAT | O_EXCL, 0600));
  return place;
}

std::optional<GitOrigin> OriginOf(const pack::GitState& git) {
  if (git.commit.empty()) return std::nullopt;
  return GitOrigin{git.commit, Printable(git.branch), git.dirty};
}

// What a variable of the job will be, for pip.
std::optional<std::string> VariableOf(const SubmitRequest& request, const LocalPrivate& own,
                                      const std::string& name) {
  const auto in = [&](const auto& variables) -> std::optional<std::string> {
    for (const auto& [known, value] : variables) {
      if (known == name) return value;
    }
    return std::nullopt;
  };
  if (auto value = in(own.secrets)) return value;
  if (auto value = in(request.spec.envs)) return value;
  return in(own.shell);
}

Result<Packed> PackFolder(Client& client, const std::string& dir, const SubmitRequest& request,
                          const LocalPrivate& own, PackedText* text) {
  STOKER_TRY(CheckRequirements(dir));
  pack::ListOptions listing_options;
  listing_options.exclude = OwnFolders(client);
  listing_options.include = request.spec.include;
  STOKER_ASSIGN(const pack::Listing listing, pack::ListWorkdir(dir, listing_options));
  if (listing.bytes > kAskAbove && !request.yes &&
      !client.Confirm("The work directory has " + HumanSize(listing.bytes) + " (" +
                      LargestParts(listing) + "). Pack all of it?")) {
    return Status(Code::kUsage,
                  "the work directory " + dir + " has " + HumanSize(listing.bytes) + " in " +
                      std::to_string(listing.files) + " files: " + LargestParts(listing),
                  "List what is not code in .stokerignore, or add --yes");
  }
  pack::IgnoredByGit ignored = pack::AskIgnored(listing);
  STOKER_ASSIGN(const PackingPlace place, MakePackingPlace(client, listing));
  pack::PackSummary summary;
  {
    Meter meter(client, "packing", listing.bytes);
    pack::PackOptions packing;
    packing.progress = [&](int64_t bytes) { meter.At(bytes); };
    packing.look = [&](const std::string& path, std::string_view head) { text->Look(path, head); };
    STOKER_ASSIGN(summary, pack::PackInto(listing, place.file.get(), place.path, packing));
  }
  for (const std::string& note : summary.notes) client.Say(note);
  const pack::LeftBehind left = pack::FindLeftBehind(listing, std::move(ignored));
  if (const std::string said = LeftBehindText(left); !said.empty()) client.Say(said);
  if (summary.packed_bytes > kTellUploadAbove) {
    client.Progress("storing " + HumanSize(summary.packed_bytes) + " …");
  }
  STOKER_ASSIGN(Ledger * ledger, client.ledger());
  STOKER_TRY(StoreFile(*ledger, summary.sha256, place.path));
  return Packed{summary.sha256,
                LeftOutOf(left),
                pack::Describe(summary) + " (" + HumanSize(summary.packed_bytes) + " packed)",
                summary.git.diff,
                OriginOf(summary.git),
                summary.git.downloads,
                ResolvePins(client, dir, [&](const std::string& name) {
                  return VariableOf(request, own, name);
                })};
}

Result<Packed> PackWorkdir(Client& client, const SubmitRequest& request, const LocalPrivate& own,
                           PackedText* text) {
  const auto repository = RepositoryOf(request.spec.workdir);
  if (!repository) return PackFolder(client, request.spec.workdir, request, own, text);
  STOKER_ASSIGN(const Clone clone, CloneRepository(client, *repository));
  STOKER_ASSIGN(Packed packed, PackFolder(client, clone.folder, request, own, text));
  packed.note = Printable(WordOf(*repository)) + ": " + packed.note;
  return packed;
}

// What SkyPilot's recipes do, on machines that are the job's own.
bool AppendsToShellFile(const std::string& setup) {
  for (const std::string& line : Split(setup, '\n')) {
    const size_t at = std::min(line.find(">>"), line.find("tee -a"));
    if (at == std::string::npos || line.find('#') == 0) continue;
    for (const char* name : {".bashrc", ".bash_profile", ".profile", ".zshrc"}) {
      if (line.find(name, at) != std::string::npos) return true;
    }
  }
  return false;
}

}  // namespace

Status AddNamed(Client& client, const SubmitRequest& request, JobSpec* spec) {
  if (!request.shell_env) return Status::Ok();
  STOKER_ASSIGN(NamedHere named, NamedHere::Of(client, *spec));
  named.Read(*spec);
  PackedText text(*spec, &named);
  if (!spec->workdir.empty() && !RepositoryOf(spec->workdir)) {
    pack::ListOptions options;
    options.exclude = OwnFolders(client);
    options.include = spec->include;
    STOKER_ASSIGN(const pack::Listing listing, pack::ListWorkdir(spec->workdir, options));
    std::string head(kLookedAt, '\0');
    for (const pack::ListedEntry& entry : listing.entries) {
      if (entry.kind != pack::EntryKind::kFile) continue;
      const auto fd = sys::Open(listing.root + "/" + entry.path, O_RDONLY | O_NOFOLLOW);
      const ssize_t got = fd.ok() ? ::read(fd->get(), head.data(), head.size()) : 0;
      if (got > 0) text.Look(entry.path, {head.data(), static_cast<size_t>(got)});
    }
  }
  text.Say(client);
  std::vector<std::pair<std::string, std::string>> none;
  named.GiveTo(client, spec, &none);
  return Status::Ok();
}

namespace {

// Who submits it, and from where.
Status Sign(Client& client, const JobSpec& spec, Job* job) {
  job->user = client.user();
  STOKER_ASSIGN(job->me, client.MakeMe());
  job->user_host = sys::Hostname();
  // A timer that starts a successor has another PATH than the shell that the job came from.
  const char* path = std::getenv("PATH");
  STOKER_ASSIGN(LocalProvider * local, client.local_provider());
  TieToHost(*job, ParseInfra(spec.resources.infra).provider, local->host(),
            path != nullptr ? Printable(path) : "");
  return Status::Ok();
}

// What a node would find out later.
Status CheckSetupCache(const JobSpec& spec) {
  if (!spec.setup_cache || RepositoryOf(spec.workdir)) return Status::Ok();
  for (const std::string& path : *spec.setup_cache) {
    if (!spec.workdir.empty() && sys::FileExists(spec.workdir + "/" + path)) continue;
    return Status(
        Code::kInvalid,
        "setup.cache names " + Printable(path) + ", which is not in " +
            (spec.workdir.empty() ? "the job: it has no work directory" : Printable(spec.workdir)),
        "Write paths of the work directory");
  }
  return Status::Ok();
}

// What is made of a request: its spec with what this shell adds, and its code.
struct Made {
  JobSpec spec;
  LocalPrivate own;
  std::string diff;
};

// Where its machines can be had, and what they run it in. Before anything is stored: neither place
// nor registry may have what is asked for.
Result<ImageLook> FindWhere(Client& client, const SubmitRequest& request, const LocalPrivate& own,
                            Job* job) {
  STOKER_ASSIGN(job->offers,
                ResolveOffers(client, request.spec, job->created, own != LocalPrivate()));
  TieToAllocation(client, {request.outlive, true}, &job->offers);
  job->image = request.image;
  job->image_bytes = request.image_bytes;
  job->image_blob = request.image_blob;
  return FixImage(client, request.spec, own, job);
}

// Packs and stores the work directory, unless that was done for an earlier job.
Status BringCode(Client& client, const SubmitRequest& request, Job* job, Made* made) {
  if (!request.code_digest.empty()) {
    job->code_digest = request.code_digest;
    job->workdir_note = request.code_note;
    job->git = request.git;
    job->pins = request.pins;
    job->left_behind = request.left_behind;
    job->downloads = request.code_downloads;
    return Status::Ok();
  }
  NamedHere named;
  if (request.shell_env) {
    STOKER_ASSIGN(named, NamedHere::Of(client, request.spec));
  }
  named.Read(request.spec);
  PackedText text(request.spec, &named);
  if (!request.spec.workdir.empty()) {
    STOKER_ASSIGN(Packed packed, PackWorkdir(client, request, made->own, &text));
    job->code_digest = packed.digest;
    job->workdir_note = packed.note;
    job->git = packed.git;
    job->pins = packed.pins;
    job->left_behind = std::move(packed.left_behind);
    job->downloads = std::move(packed.downloads);
    made->diff = std::move(packed.diff);
    client.Say("packed " + packed.note);
  }
  text.Say(client);
  named.GiveTo(client, &made->spec, &made->own.shell);
  if (request.spec.container.image.empty() && AppendsToShellFile(request.spec.setup)) {
    client.Say(
        "setup appends to a file such as ~/.bashrc. On this machine that is your own file, and "
        "'run' does not read it. Write NAME=VALUE lines into the file $STOKER_ENV instead");
  }
  return Status::Ok();
}

// The private values of a job that did not come to be.
void TakeBack(Client& client, const Ledger& ledger, const JobSpec& spec, const Job& job) {
  (void)RemoveLocalPrivate(client.places().state, ledger.id(), job.id);
  (void)RemoveJobSecrets(ledger.id(), job, OwnSecretNames(spec));
}

// Which variables go along, and who tells: addresses that are secrets are known to nodes and here,
// and nodes that may recover nothing look after nothing.
void SayWhatGoesAndWhoTells(Client& client, const JobSpec& spec, const LocalPrivate& own) {
  SayShell(client, spec, own);
  if (spec.recovery != RecoveryMode::kController || !TellsBySecret(spec.notify)) return;
  client.Say(
      "notify: with 'recovery: controller' nodes tell nobody: what goes to a $NAME is told from "
      "this machine alone, by a command, a timer or 'stoker controller', and given up where none "
      "of them looks within ten minutes");
}

}  // namespace

Result<Job> Submit(Client& client, const SubmitRequest& request) {
  STOKER_ASSIGN(Ledger * ledger, client.ledger_or_new());
  // Of a shell on this machine; a box and a cloud's machine have variables of their own.
  const bool shell = request.shell_env && !AnyChoiceHas(request.spec, &BrokerTraits::elsewhere);
  const bool cloned = RepositoryOf(request.spec.workdir).has_value();
  if (request.shell_env) STOKER_TRY(CheckWholeShell(request.spec));
  Made made{request.spec, {}, ""};
  STOKER_ASSIGN(made.own, GatherPrivate(client, {request.spec, request.secret_values, shell,
                                                 cloned ? "" : request.spec.workdir}));
  STOKER_TRY(CheckPlace(request.spec));
  if (request.code_digest.empty()) STOKER_TRY(CheckSetupCache(request.spec));
  Job job;
  job.created = client.clock().Wall();
  STOKER_ASSIGN(ImageLook look, FindWhere(client, request, made.own, &job));
  STOKER_TRY(BringCode(client, request, &job, &made));
  STOKER_TRY(BuildImage(client, request.spec, made.own, &job));
  const LocalPrivate& own = made.own;
  SayWhatGoesAndWhoTells(client, request.spec, own);
  for (const auto& [name, value] : own.shell) job.shell.push_back(Printable(name));
  STOKER_ASSIGN(job.binary_digest, StoreBinary(client));
  STOKER_TRY(FinishImage(client, request.spec, own, std::move(look), &job));
  const std::string spec_text = PrintJobSpec(made.spec);
  job.name = request.spec.name;
  job.command = CutText(ProgramText(request.spec), 500);
  STOKER_TRY(Sign(client, request.spec, &job));
  job.spec_digest = Sha256Hex(spec_text);
  job.num_nodes = request.spec.num_nodes;
  job.retry_of = request.retry_of;
  job.from = request.from;
  job.promised = request.promised;
  job.movable = true;
  bool elsewhere = false;
  const std::vector<Place> vaults = VaultsOf(job.offers, &elsewhere);
  if (!own.secrets.empty()) job.secrets_in = vaults;
  LocalPrivate stays = own;
  // Else no machine of it reads them here; whoever tells its events does.
  const auto told = [&](const auto& secret) {
    return IsAddress(request.spec.notify, secret.first);
  };
  if (!elsewhere) std::erase_if(stays.secrets, std::not_fn(told));
  if (AnyChoiceHas(request.spec, &BrokerTraits::rents)) {
    STOKER_TRY(CompleteOffers(client, job.binary_digest, &job.offers));
  }
  // Once more, and last of all: what is doomed anew from now on stays for an hour.
  STOKER_TRY(SpareLine(client, request.line, request.promised, UnreadLists::kNotTold));
  if (request.before_record) request.before_record();
  for (int tries = 0; tries < 8; ++tries) {
    job.id = ledger->NewJobId();
    // First, so that whoever launches the job finds it. On Slurm it also tells whose job it is.
    if (stays != LocalPrivate() || AnyChoiceHas(request.spec, &BrokerTraits::reads_owner)) {
      STOKER_TRY(WriteLocalPrivate(client.places().state, ledger->id(), job.id, stays));
    }
    const auto put = PutJobSecrets({ledger->id(), &ledger->store()}, job, own.secrets, job.created);
    if (!put.ok()) TakeBack(client, *ledger, request.spec, job);
    STOKER_TRY(put);
    auto created = CreateJob(*ledger, job, spec_text);
    if (created.ok()) {
      if (!made.diff.empty()) (void)ledger->store().Put(paths::Diff(job.id), made.diff);
      KeepReserve(client);
      PrepareLateCancels(client);
      return created->job;
    }
    // The answer may be lost, and the job there: its values stay, and 'stoker gc' looks at them.
    if (!created.status().transient()) TakeBack(client, *ledger, request.spec, job);
    if (!created.status().Is(Code::kExists)) return created.status();
  }
  return Status(Code::kInternal, "eight random job ids were all taken");
}

}  // namespace stoker::client

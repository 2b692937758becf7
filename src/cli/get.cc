// SPDX-License-Identifier: Apache-2.0
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>

#include "base/json.h"
#include "base/text.h"
#include "checkpoint/checkpoint_store.h"
#include "cli/get_outputs.h"
#include "cli/terminal/context.h"
#include "cli/verb.h"
#include "client/open/meter.h"
#include "ledger/records.h"
#include "sys/file.h"
#include "sys/thread_crew.h"
#include "sys/watch/checkpoint_files.h"
#include "view/lineage.h"

namespace stoker::cli {
namespace {

constexpr char kProfile[] = "profile";
constexpr char kPart[] = ".stoker-part-";  // and the pid of who fetches

struct GetOptions {
  std::string job;
  std::string what;
  std::string to;
  int attempt = 0;  // not given: the newest of each file
  int node = -1;    // not given: the first node's view of a checkpoint, the outputs of all
  bool list = false;
  bool force = false;
};

// nullopt: it is an output's name.
Result<std::optional<CheckpointName>> CheckpointMeant(Context& context, const std::string& job,
                                                      const std::string& what) {
  const std::string name = SplitCheckpointName(what).name;
  const bool maybe = name == "checkpoint" || name == kAsLeft || IsAsLeft(name) ||
                     ParseLeftOfNode(name) || ParseCheckpointId(name).has_value();
  if (!maybe) return std::optional<CheckpointName>();
  STOKER_ASSIGN(Ledger * ledger, context.ledger());
  STOKER_ASSIGN(const JobRead read, ReadJob(*ledger, job));
  return FindCheckpoint(*ledger, read.job, what);
}

// What is there already is not overwritten: the destination would have to equal the checkpoint.
Status CheckDestination(const std::string& to) {
  if (!sys::FileExists(to)) return Status::Ok();
  const auto entries = sys::ListDir(to);
  if (entries.ok() && entries->empty()) return Status::Ok();
  return Status(Code::kExists, to + " is there already and is not an empty folder",
                "Name another folder");
}

// Where a checkpoint is fetched to before it gets its name: half of one must not have it, whatever
// dies. What fetches that were killed have left beside it goes.
Result<std::string> MakePart(const std::string& to) {
  const std::string path = to.substr(0, to.find_last_not_of('/') + 1);
  const size_t slash = path.rfind('/');
  const std::string parent = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const std::string prefix = path.substr(slash == std::string::npos ? 0 : slash + 1) + kPart;
  const auto entries = sys::ListDir(parent);
  for (const auto& entry : entries.ok() ? *entries : std::vector<sys::DirEntry>()) {
    if (!StartsWith(entry.name, prefix)) continue;
    const auto pid = WholeNumber(entry.name.substr(prefix.size()), 1, INT32_MAX);
    if (pid && ::kill(static_cast<pid_t>(*pid), 0) != 0 && errno == ESRCH) {
      (void)sys::RemoveTree(parent + "/" + entry.name);
    }
  }
  const std::string part = path + kPart + std::to_string(::getpid());
  STOKER_TRY(sys::MakeDirs(part, 0755));
  return sys::RealPath(part);
}

// What a restore will write, for the progress: 0 when it cannot be known.
int64_t BytesOf(ObjectStore& store, const std::string& job, const std::string& id, int node) {
  const auto manifest = LoadManifest(store, job, id);
  int64_t bytes = 0;
  if (!manifest.ok()) return 0;  // the restore says why
  for (const ManifestFile& file : UnionFor(*manifest, node)) bytes += file.size;
  return bytes;
}

Status GetCheckpoint(Context& context, const std::string& of, const CheckpointName& which,
                     const GetOptions& options) {
  STOKER_ASSIGN(ObjectStore * store, context.store());
  const std::string& job = which.job;
  const std::string& id = which.name;
  if (options.attempt > 0) {
    return Status(Code::kUsage,
                  "--attempt is of outputs: a checkpoint's name begins with its attempt",
                  "'stoker checkpoints " + of + "' lists them");
  }
  const std::string to = options.to.empty() ? "checkpoint-" + id : options.to;
  STOKER_TRY(CheckDestination(to));
  const bool ours = !sys::FileExists(to);
  STOKER_ASSIGN(const std::string fetched, ours ? MakePart(to) : sys::RealPath(to));
  STOKER_ASSIGN(const auto writer, OpenDirectoryWriter(fetched));
  const Status restored = [&] {
    const int node = std::max(options.node, 0);
    client::Meter meter(context, "fetching", BytesOf(*store, job, id, node));
    ThreadCrew crew;
    return RestoreCheckpoint(*store, job, id, node, *client::Metered(*writer, meter),
                             {&crew, &context.clock(), kGetMoves});
  }();
  if (!restored.ok()) {
    // Half of a checkpoint is worse than none.
    if (ours) (void)sys::RemoveTree(fetched);
    return restored;
  }
  if (ours && options.to.empty()) LeaveUnpacked(fetched);
  if (ours && ::rename(fetched.c_str(), to.c_str()) != 0) {
    return ErrnoStatus("naming " + fetched + " " + to, errno);
  }
  STOKER_ASSIGN(const std::string folder, sys::RealPath(to));
  context.Say(SayCheckpoint(job == of ? id : job + "/" + id) + " is in " + to);
  TellIfPacked(context, of, folder);
  if (context.json) {
    context.Print(nlohmann::json({{"job", of},
                                  {"of", job},
                                  {"checkpoint", id},
                                  {"as_left", IsAsLeft(id) || ParseLeftOfNode(id)},
                                  {"to", folder}})
                      .dump() +
                  "\n");
  }
  return Status::Ok();
}

// As outputs are listed: "./out//best" is "out/best".
std::string AsListed(const std::string& what) {
  std::string plain;
  for (const std::string& part : Split(what, '/')) {
    if (!part.empty() && part != ".") plain += (plain.empty() ? "" : "/") + part;
  }
  return plain + (EndsWith(what, "/") && !plain.empty() ? "/" : "");
}

// "stoker get JOB ./here" means a folder: no output is called so.
bool IsFolder(const std::string& word) {
  return word == "." || word == ".." || StartsWith(word, "./") || StartsWith(word, "../") ||
         StartsWith(word, "/");
}

// Other nodes than these kept nothing and see nothing.
Status CheckNode(Context& context, const std::string& job, int node) {
  if (node < 0) return Status::Ok();
  STOKER_ASSIGN(Ledger * ledger, context.ledger());
  STOKER_ASSIGN(const JobRead read, ReadJob(*ledger, job));
  if (node < read.job.num_nodes) return Status::Ok();
  return Status(Code::kUsage, "--node " + std::to_string(node) + ": the job has nodes 0 to " +
                                  std::to_string(read.job.num_nodes - 1));
}

Status Run(Context& context, const GetOptions& options) {
  if (options.attempt < 0) return Status(Code::kUsage, "--attempt: they are counted from 1");
  STOKER_ASSIGN(const std::string job, context.ResolveJob(options.job));
  STOKER_TRY(CheckNode(context, job, options.node));
  if (options.list) return ListKept(context, job, options.attempt);
  STOKER_ASSIGN(const auto checkpoint, CheckpointMeant(context, job, options.what));
  if (checkpoint) return GetCheckpoint(context, job, *checkpoint, options);
  const bool folder = options.to.empty() && IsFolder(options.what);
  GetOutputsOptions outputs{AsListed(options.what), options.to, options.force, options.node};
  if (folder) outputs = {"", options.what, options.force, options.node};
  outputs.attempt = options.attempt;
  if (options.what == kProfile) outputs.profiles = true;
  return GetOutputs(context, job, outputs);
}

}  // namespace

Verb GetVerb() {
  auto options = std::make_shared<GetOptions>();
  Verb verb;
  verb.name = "get";
  verb.summary = "Fetch a job's outputs or a checkpoint";
  verb.description =
      "Fetches what a job kept: all outputs, one of them, or a checkpoint ('checkpoint' is the "
      "newest). An output is named by one or more whole parts of its path, wherever they stand in "
      "it: 'best' and 'out/best' fetch out/best/v, 'best/' folders of that name only; no character "
      "is a wildcard. 'profile' means the traces that a profiler wrote, unless an output is called "
      "so. "
      "Every byte is checked against its recorded digest. Outputs go into a new folder "
      "NAME-ID, which the next job does not pack, unless you name a DIR. Files that are there "
      "already and differ are left alone and "
      "listed, unless you say --force; a folder is never replaced by a file.";
  verb.examples = {"stoker get digits",
                   "stoker get digits ./out",
                   "stoker get digits output ./out",
                   "stoker get digits checkpoint ./ckpt",
                   "stoker get digits 2-14 ./ckpt",
                   "stoker get digits profile ./traces"};
  verb.options = {{"JOB", "Which job ('-' = your last)", &options->job, "", true},
                  {"WHAT", "An output, a checkpoint's id, 'checkpoint', 'as-left' or 'profile'",
                   &options->what, ""},
                  {"DIR", "The folder to put it in", &options->to, ""},
                  {"--force", "Replace files that are there and differ", &options->force},
                  {"-l,--list", "Only list the outputs", &options->list},
                  {"--attempt", "What this attempt kept, though a later one replaced it",
                   &options->attempt, "N"},
                  {"--node", "What this node has or sees", &options->node, "RANK"}};
  verb.run = [options](Context& context) { return Run(context, *options); };
  verb.options_owner = options;
  return verb;
}

}  // namespace stoker::cli

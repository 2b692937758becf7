// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "base/utf8.h"
#include "cli/terminal/context.h"
#include "cli/terminal/table.h"
#include "cli/verb.h"
#include "client/fetch/fetched_folder.h"
#include "client/fetch/get_checkpoint.h"
#include "client/fetch/get_outputs.h"
#include "ledger/records.h"
#include "outputs/output_list.h"
#include "spec/text/yaml_text.h"
#include "transfer/object_name.h"
#include "view/facts.h"
#include "view/lineage.h"

namespace stoker::cli {
namespace {

using nlohmann::json;

constexpr char kProfile[] = "profile";
constexpr size_t kNamed = 20;  // of what was refused, to people; --json names all

struct GetOptions {
  std::string job;
  std::string what;
  std::string to;
  int attempt = 0;  // not given: the newest of each file
  int node = -1;    // not given: the first node's view of a checkpoint, the outputs of all
  bool list = false;
  bool force = false;
};

Status FetchCheckpoint(Context& context, const std::string& of, const CheckpointName& which,
                       const GetOptions& options) {
  if (options.attempt > 0) {
    return Status(Code::kUsage,
                  "--attempt is of outputs: a checkpoint's name begins with its attempt",
                  "'stoker checkpoints " + of + "' lists them");
  }
  const std::string& id = which.name;
  STOKER_ASSIGN(const std::string folder,
                client::GetCheckpoint(context, which, std::max(options.node, 0), options.to));
  context.Say(SayCheckpoint(which.job == of ? id : which.job + "/" + id) + " is in " +
              (options.to.empty() ? client::FolderOf(which) : options.to));
  client::SayIfPacked(context, of, folder);
  if (context.json) {
    context.Print(json({{"job", of},
                        {"of", which.job},
                        {"checkpoint", id},
                        {"as_left", IsAsLeft(id) || ParseLeftOfNode(id)},
                        {"to", folder}})
                      .dump() +
                  "\n");
  }
  return Status::Ok();
}

std::string Where(const client::FetchedOutputs& out) {
  return out.to == "." ? "this folder" : out.to;
}

void TellMissing(Context& context, const client::FetchedOutputs& out) {
  if (out.replaced > 0) {
    context.Say(HumanFiles(out.replaced) +
                (out.replaced == 1 ? " replaced one" : " replaced those") +
                " that an earlier attempt had kept ('stoker get JOB --attempt N' fetches them): "
                "output folders start empty; what the program appends to belongs into the "
                "checkpoint folder");
  }
  if (out.unkept > 0) {
    context.Say("not kept: " + UnkeptText(out.unkept, out.unkept_in));
  }
}

void Tell(Context& context, const std::string& job, const client::FetchedOutputs& out) {
  std::string text = HumanFiles(out.files) + ", " + HumanSize(out.bytes) + ", in " + Where(out);
  if (out.same > 0) text += "; " + HumanFiles(out.same) + " there already and the same";
  context.Say(text);
  size_t named = 0;
  for (const auto& [path, refusal] : out.refused) {
    if (++named > kNamed) break;
    context.Say("not fetched: " + Spelled(path) + ": " + refusal.why);
  }
  if (named > kNamed) {
    context.Say("not fetched: " + std::to_string(out.refused.size() - kNamed) + " more");
  }
  named = 0;
  for (const std::string& path : out.gone) {
    if (++named > kNamed) break;
    context.Say("not there any more: " + Spelled(path) +
                ": later attempts have replaced it, and the last few of them are kept");
  }
  if (named > kNamed) {
    context.Say("not there any more: " + std::to_string(out.gone.size() - kNamed) + " more");
  }
  TellMissing(context, out);
  if (!context.json) return;
  json refused = json::array();
  for (const auto& [path, refusal] : out.refused) {
    refused.push_back({{"path", path}, {"why", refusal.why}});
  }
  context.Print(json({{"job", job},
                      {"files", out.files},
                      {"bytes", out.bytes},
                      {"same", out.same},
                      {"refused", refused},
                      {"gone", out.gone.size()},
                      {"replaced", out.replaced},
                      {"unkept", out.unkept},
                      {"to", out.folder}})
                    .dump(-1, ' ', false, json::error_handler_t::replace) +
                "\n");
}

Status Refusals(const client::FetchedOutputs& out) {
  if (out.refused.empty()) return Status::Ok();
  bool by_force = false;
  for (const auto& [path, refusal] : out.refused) by_force = by_force || refusal.by_force;
  const auto count = static_cast<int64_t>(out.refused.size());
  return Status(Code::kExists,
                HumanFiles(count) + (count == 1 ? " was" : " were") +
                    " not fetched, so that nothing in " + Where(out) + " is overwritten",
                by_force ? "Name another folder, or add --force" : "Name another folder");
}

Status ListKept(Context& context, const std::string& job, int attempt) {
  STOKER_ASSIGN(ObjectStore * store, context.store());
  STOKER_ASSIGN(const auto outputs, ListOutputs(*store, job, attempt));
  json all = json::array();
  std::vector<std::vector<std::string>> rows = {{"OUTPUT", "SIZE", "ATTEMPT", "NODE"}};
  for (const OutputInfo& info : outputs) {
    json one({{"path", info.path},
              {"bytes", info.file.size},
              {"attempt", info.attempt},
              {"node", info.rank},
              {"sha256", info.file.sha256}});
    if (!IsUtf8(info.path)) one["path_encoded"] = one["path"] = EncodeName(info.path);
    all.push_back(std::move(one));
    rows.push_back({Spelled(info.path), HumanSize(info.file.size), std::to_string(info.attempt),
                    std::to_string(info.rank)});
  }
  if (!context.json && outputs.empty()) return client::NoOutputs(context, job, attempt);
  context.Print(context.json ? all.dump(-1, ' ', false, json::error_handler_t::replace) + "\n"
                             : FormatTable(rows));
  return Status::Ok();
}

Status FetchOutputs(Context& context, const std::string& job,
                    const client::GetOutputsOptions& options) {
  STOKER_ASSIGN(const client::FetchedOutputs out, client::GetOutputs(context, job, options));
  Tell(context, job, out);
  if (out.files > 0) client::SayIfPacked(context, job, out.folder);
  const Status refused = Refusals(out);
  if (!context.json || refused.ok()) return refused;
  context.exit_code = 1;  // what is printed says why
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
  STOKER_ASSIGN(const auto checkpoint, client::CheckpointMeant(context, job, options.what));
  if (checkpoint) return FetchCheckpoint(context, job, *checkpoint, options);
  const bool folder = options.to.empty() && IsFolder(options.what);
  client::GetOutputsOptions outputs{AsListed(options.what), options.to, options.force,
                                    options.node};
  if (folder) outputs = {"", options.what, options.force, options.node};
  outputs.attempt = options.attempt;
  if (options.what == kProfile) outputs.profiles = true;
  return FetchOutputs(context, job, outputs);
}

}  // namespace

Verb GetVerb() {
  auto options = std::make_shared<GetOptions>();
  Verb verb = VerbOf(options, Run);
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
  return verb;
}

}  // namespace stoker::cli

// SPDX-License-Identifier: Apache-2.0
#include "cli/get_outputs.h"

#include <algorithm>
#include <set>
#include <vector>

#include "base/json.h"
#include "base/profiles.h"
#include "base/text.h"
#include "base/utf8.h"
#include "cli/terminal/table.h"
#include "client/fetch/in_the_way.h"
#include "client/open/meter.h"
#include "ledger/records.h"
#include "outputs/output_list.h"
#include "pack/exclusions.h"
#include "spec/parse.h"
#include "spec/text/yaml_text.h"
#include "sys/file.h"
#include "sys/thread_crew.h"
#include "sys/watch/checkpoint_files.h"
#include "transfer/object_name.h"
#include "view/facts.h"

namespace stoker::cli {
namespace {

using nlohmann::json;

constexpr char kIgnoreFile[] = ".stokerignore";
constexpr size_t kNamed = 20;  // of what was refused, to people; --json names all

// Of what DownloadOutputs takes for `what`, for the progress only.
int64_t BytesOf(const std::vector<OutputInfo>& outputs, const std::string& what) {
  int64_t bytes = 0;
  for (const OutputInfo& info : outputs) {
    if (IsMeant(info, what)) bytes += info.file.size;
  }
  return bytes;
}

// Decides, file by file, whether it is fetched.
class Sieve {
 public:
  Sieve(std::string folder, bool force) : folder_(std::move(folder)), force_(force) {}

  // Asked once more of each file when something was replaced in the store meanwhile.
  Result<bool> Wants(const OutputInfo& output) {
    refused_.erase(output.path);
    same_.erase(output.path);
    if (output.file.kind == FileKind::kFile && output.key.empty()) {
      gone_.insert(output.path);
      return false;
    }
    STOKER_ASSIGN(const client::Found found,
                  client::LookInTheWay(folder_, output.path, output.file));
    if (found.lies == client::Lies::kSame) {
      if (asked_.count(output.path) == 0) same_.insert(output.path);
      return false;
    }
    const bool free =
        found.lies == client::Lies::kNothing || (found.lies == client::Lies::kOther && force_);
    if (!free) {
      refused_[output.path] = {found.why, found.lies == client::Lies::kOther};
      return false;
    }
    if (asked_.insert(output.path).second) bytes_ += output.file.size;
    return true;
  }

  struct Refusal {
    std::string why;
    bool by_force = false;  // --force would replace it
  };
  int64_t fetched() const { return static_cast<int64_t>(asked_.size()); }
  int64_t bytes() const { return bytes_; }
  int64_t same() const { return static_cast<int64_t>(same_.size()); }
  const std::map<std::string, Refusal>& refused() const { return refused_; }
  // Replaced by later attempts, and not kept any more.
  const std::set<std::string>& gone() const { return gone_; }

 private:
  const std::string folder_;
  const bool force_;
  std::set<std::string> asked_;
  std::set<std::string> same_;
  std::set<std::string> gone_;
  std::map<std::string, Refusal> refused_;
  int64_t bytes_ = 0;
};

// What the job made and this does not fetch.
struct Missing {
  int64_t replaced = 0;  // files of earlier attempts, by others of their names
  int64_t unkept = 0;    // files that are in no store
  std::string unkept_in;
};

Missing MissingOf(Context& context, const std::string& job,
                  const std::vector<OutputInfo>& outputs) {
  Missing missing;
  missing.replaced = std::count_if(outputs.begin(), outputs.end(),
                                   [](const OutputInfo& o) { return o.replaces_earlier; });
  const auto ledger = context.ledger();
  const auto read = ledger.ok() ? ReadJob(**ledger, job) : Result<JobRead>(ledger.status());
  const Attempt* attempt = read.ok() ? NewestNeeded(read->job) : nullptr;
  if (attempt == nullptr) return missing;
  missing.unkept = attempt->unkept;
  missing.unkept_in = attempt->unkept_in;
  return missing;
}

Status NoOutputs(Context& context, const std::string& job, int attempt) {
  if (attempt > 0) {
    return Status(Code::kNotFound,
                  "attempt " + std::to_string(attempt) + " of job " + job + " has kept no outputs",
                  "'stoker get --list " + job + "' says which attempt kept what is the newest");
  }
  const auto ledger = context.ledger();
  const auto read = ledger.ok() ? ReadJob(**ledger, job) : Result<JobRead>(ledger.status());
  const bool ended = !read.ok() || IsFinal(read->job.state);
  const Missing missing = MissingOf(context, job, {});
  const std::string lost =
      missing.unkept == 0 ? "" : ": not kept: " + UnkeptText(missing.unkept, missing.unkept_in);
  return Status(Code::kNotFound,
                "job " + job + " has kept no outputs" + (ended ? lost : " yet: it has not ended"),
                "'stoker get " + job +
                    " checkpoint' fetches its newest checkpoint, if it has one; " +
                    "'stoker show " + job + "' says what was kept");
}

// A folder of the caller's, where the name of an output belongs.
Status HintAtFolder(const Status& status, const std::string& job, const std::string& what) {
  if (!status.Is(Code::kNotFound) || what.empty() || !sys::DirExists(what)) return status;
  return Status(status.code(), status.message(),
                status.next() + (status.next().empty() ? "" : "; ") +
                    "into the folder: stoker get " + job + " ./" + Printable(what));
}

void Tell(Context& context, const Missing& missing) {
  if (missing.replaced > 0) {
    context.Say(HumanFiles(missing.replaced) +
                (missing.replaced == 1 ? " replaced one" : " replaced those") +
                " that an earlier attempt had kept ('stoker get JOB --attempt N' fetches them): "
                "output folders start empty; what the program appends to belongs into the "
                "checkpoint folder");
  }
  if (missing.unkept > 0) {
    context.Say("not kept: " + UnkeptText(missing.unkept, missing.unkept_in));
  }
}

void Tell(Context& context, const std::string& job, const std::string& to,
          const std::string& folder, const Sieve& sieve, const Missing& missing) {
  std::string text = HumanFiles(sieve.fetched()) + ", " + HumanSize(sieve.bytes()) + ", in " + to;
  if (sieve.same() > 0) text += "; " + HumanFiles(sieve.same()) + " there already and the same";
  context.Say(text);
  size_t named = 0;
  for (const auto& [path, refusal] : sieve.refused()) {
    if (++named > kNamed) break;
    context.Say("not fetched: " + Spelled(path) + ": " + refusal.why);
  }
  if (named > kNamed) {
    context.Say("not fetched: " + std::to_string(sieve.refused().size() - kNamed) + " more");
  }
  named = 0;
  for (const std::string& path : sieve.gone()) {
    if (++named > kNamed) break;
    context.Say("not there any more: " + Spelled(path) +
                ": later attempts have replaced it, and the last few of them are kept");
  }
  if (named > kNamed) {
    context.Say("not there any more: " + std::to_string(sieve.gone().size() - kNamed) + " more");
  }
  Tell(context, missing);
  if (!context.json) return;
  json refused = json::array();
  for (const auto& [path, refusal] : sieve.refused()) {
    refused.push_back({{"path", path}, {"why", refusal.why}});
  }
  context.Print(json({{"job", job},
                      {"files", sieve.fetched()},
                      {"bytes", sieve.bytes()},
                      {"same", sieve.same()},
                      {"refused", refused},
                      {"gone", sieve.gone().size()},
                      {"replaced", missing.replaced},
                      {"unkept", missing.unkept},
                      {"to", folder}})
                    .dump(-1, ' ', false, json::error_handler_t::replace) +
                "\n");
}

Status Refusals(const Sieve& sieve, const std::string& to) {
  if (sieve.refused().empty()) return Status::Ok();
  bool by_force = false;
  for (const auto& [path, refusal] : sieve.refused()) by_force = by_force || refusal.by_force;
  const auto count = static_cast<int64_t>(sieve.refused().size());
  return Status(Code::kExists,
                HumanFiles(count) + (count == 1 ? " was" : " were") +
                    " not fetched, so that nothing in " + to + " is overwritten",
                by_force ? "Name another folder, or add --force" : "Name another folder");
}

Result<std::string> FolderOfJob(Context& context, const std::string& job) {
  STOKER_ASSIGN(Ledger * ledger, context.ledger());
  STOKER_ASSIGN(const JobRead read, ReadJob(*ledger, job));
  return read.job.name + "-" + job;
}

}  // namespace

Status GetOutputs(Context& context, const std::string& job, const GetOutputsOptions& options) {
  STOKER_ASSIGN(ObjectStore * store, context.store());
  STOKER_ASSIGN(auto outputs, ListOutputs(*store, job, options.attempt));
  if (outputs.empty()) return NoOutputs(context, job, options.attempt);
  const auto others = [&options](const OutputInfo& info) {
    return options.node >= 0 && info.rank != options.node;
  };
  std::erase_if(outputs, others);
  if (outputs.empty()) {
    return Status(Code::kNotFound,
                  "node " + std::to_string(options.node) + " of job " + job + " kept no outputs",
                  "'stoker get --list " + job + "' says which node kept what");
  }
  // An output of that name is meant, if there is one.
  const bool profiles =
      options.profiles && std::none_of(outputs.begin(), outputs.end(), [&](const OutputInfo& info) {
        return IsMeant(info, options.what);
      });
  if (profiles) {
    std::erase_if(outputs, [](const OutputInfo& info) { return !IsProfile(info.path); });
    if (outputs.empty()) {
      return Status(Code::kNotFound, "job " + job + " has kept no traces of a profiler",
                    "docs/metrics.md says which are found; 'stoker get --list " + job +
                        "' lists what was kept");
    }
  }
  const std::string what = profiles ? "" : options.what;
  std::string to = options.to;
  if (to.empty()) {
    STOKER_ASSIGN(to, FolderOfJob(context, job));
  }
  const bool made = !sys::FileExists(to);
  STOKER_TRY(sys::MakeDirs(to, 0755));
  STOKER_ASSIGN(const std::string folder, sys::RealPath(to));
  STOKER_ASSIGN(const auto writer, OpenDirectoryWriter(folder, options.force ? InTheWay::kReplace
                                                                             : InTheWay::kRefuse));
  Sieve sieve(folder, options.force);
  const auto got = [&] {
    client::Meter meter(context, "fetching", BytesOf(outputs, what));
    ThreadCrew crew;
    return DownloadOutputs(
        *store, job, what, *client::Metered(*writer, meter), {&crew, &context.clock(), kGetMoves},
        [&](const OutputInfo& output) {
          const bool wanted = !others(output) && (!profiles || IsProfile(output.path));
          return wanted ? sieve.Wants(output) : Result<bool>(false);
        },
        options.attempt);
  }();
  if (!got.ok()) {
    if (made) (void)sys::RemoveTree(folder);
    return HintAtFolder(got.status(), job, what);
  }
  Tell(context, job, to == "." ? "this folder" : to, folder, sieve,
       MissingOf(context, job, outputs));
  if (made && options.to.empty()) LeaveUnpacked(folder);
  if (sieve.fetched() > 0) TellIfPacked(context, job, folder);
  const Status refused = Refusals(sieve, to == "." ? "this folder" : to);
  if (!context.json || refused.ok()) return refused;
  context.exit_code = 1;  // what is printed says why
  return Status::Ok();
}

void LeaveUnpacked(const std::string& folder) {
  const std::string file = folder + "/" + kIgnoreFile;
  if (!sys::FileExists(file)) (void)sys::WriteFileAtomic(file, pack::kFetchedFolder, 0644, false);
}

void TellIfPacked(Context& context, const std::string& job, const std::string& folder) {
  const auto ledger = context.ledger();
  const auto read = ledger.ok() ? ReadJob(**ledger, job) : Result<JobRead>(ledger.status());
  const auto text = read.ok() ? ReadSpec(**ledger, read->job) : Result<std::string>(read.status());
  const auto spec = text.ok() ? ParseStoredSpec(*text) : Result<JobSpec>(text.status());
  if (!spec.ok() || spec->workdir.empty() || !StartsWith(folder, spec->workdir + "/")) return;
  const auto ignored = sys::ReadFile(folder + "/" + kIgnoreFile, 1 << 16);
  if (ignored.ok() && *ignored == pack::kFetchedFolder) return;
  context.Say(
      "that is in the job's work directory, and the next job packs it too, unless an "
      "ignore file names it: add " +
      Printable(folder.substr(spec->workdir.size())) + "/ to .stokerignore");
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
  if (!context.json && outputs.empty()) return NoOutputs(context, job, attempt);
  context.Print(context.json ? all.dump(-1, ' ', false, json::error_handler_t::replace) + "\n"
                             : FormatTable(rows));
  return Status::Ok();
}

}  // namespace stoker::cli

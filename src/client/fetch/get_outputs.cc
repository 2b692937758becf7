// SPDX-License-Identifier: Apache-2.0
#include "client/fetch/get_outputs.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/profiles.h"
#include "base/text.h"
#include "client/fetch/fetched_folder.h"
#include "client/fetch/in_the_way.h"
#include "client/open/meter.h"
#include "ledger/records.h"
#include "outputs/output_list.h"
#include "sys/file.h"
#include "sys/thread_crew.h"
#include "sys/watch/checkpoint_files.h"
#include "view/facts.h"

namespace stoker::client {
namespace {

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
    STOKER_ASSIGN(const Found found, LookInTheWay(folder_, output.path, output.file));
    if (found.lies == Lies::kSame) {
      if (asked_.count(output.path) == 0) same_.insert(output.path);
      return false;
    }
    const bool free = found.lies == Lies::kNothing || (found.lies == Lies::kOther && force_);
    if (!free) {
      refused_[output.path] = {found.why, found.lies == Lies::kOther};
      return false;
    }
    if (asked_.insert(output.path).second) bytes_ += output.file.size;
    return true;
  }

  // What came of the files that it was asked of.
  void Tell(FetchedOutputs* out) const {
    out->files = static_cast<int64_t>(asked_.size());
    out->bytes = bytes_;
    out->same = static_cast<int64_t>(same_.size());
    out->refused = refused_;
    out->gone = gone_;
  }

 private:
  const std::string folder_;
  const bool force_;
  std::set<std::string> asked_;
  std::set<std::string> same_;
  std::set<std::string> gone_;
  std::map<std::string, FetchedOutputs::Refusal> refused_;
  int64_t bytes_ = 0;
};

// What the newest attempt left that is in no store.
void FindUnkept(Client& client, const std::string& job, FetchedOutputs* out) {
  const auto ledger = client.ledger();
  const auto read = ledger.ok() ? ReadJob(**ledger, job) : Result<JobRead>(ledger.status());
  const Attempt* attempt = read.ok() ? NewestNeeded(read->job) : nullptr;
  if (attempt == nullptr) return;
  out->unkept = attempt->unkept;
  out->unkept_in = attempt->unkept_in;
}

// A folder of the caller's, where the name of an output belongs.
Status HintAtFolder(const Status& status, const std::string& job, const std::string& what) {
  if (!status.Is(Code::kNotFound) || what.empty() || !sys::DirExists(what)) return status;
  return Status(status.code(), status.message(),
                status.next() + (status.next().empty() ? "" : "; ") +
                    "into the folder: stoker get " + job + " ./" + Printable(what));
}

Result<std::string> FolderOfJob(Client& client, const std::string& job) {
  STOKER_ASSIGN(Ledger * ledger, client.ledger());
  STOKER_ASSIGN(const JobRead read, ReadJob(*ledger, job));
  return read.job.name + "-" + job;
}

bool IsOfNode(const OutputInfo& info, const GetOutputsOptions& options) {
  return options.node < 0 || info.rank == options.node;
}

// Leaves of `outputs` those that are asked for; their names do not count yet. True: those are
// traces of a profiler.
Result<bool> Choose(const std::string& job, const GetOutputsOptions& options,
                    std::vector<OutputInfo>* outputs) {
  std::erase_if(*outputs, [&](const OutputInfo& info) { return !IsOfNode(info, options); });
  if (outputs->empty()) {
    return Status(Code::kNotFound,
                  "node " + std::to_string(options.node) + " of job " + job + " kept no outputs",
                  "'stoker get --list " + job + "' says which node kept what");
  }
  // An output of that name is meant, if there is one.
  const auto meant = [&](const OutputInfo& info) { return IsMeant(info, options.what); };
  if (!options.profiles || std::any_of(outputs->begin(), outputs->end(), meant)) return false;
  std::erase_if(*outputs, [](const OutputInfo& info) { return !IsProfile(info.path); });
  if (outputs->empty()) {
    return Status(Code::kNotFound, "job " + job + " has kept no traces of a profiler",
                  "docs/metrics.md says which are found; 'stoker get --list " + job +
                      "' lists what was kept");
  }
  return true;
}

}  // namespace

Status NoOutputs(Client& client, const std::string& job, int attempt) {
  if (attempt > 0) {
    return Status(Code::kNotFound,
                  "attempt " + std::to_string(attempt) + " of job " + job + " has kept no outputs",
                  "'stoker get --list " + job + "' says which attempt kept what is the newest");
  }
  const auto ledger = client.ledger();
  const auto read = ledger.ok() ? ReadJob(**ledger, job) : Result<JobRead>(ledger.status());
  const bool ended = !read.ok() || IsFinal(read->job.state);
  FetchedOutputs missing;
  FindUnkept(client, job, &missing);
  const std::string lost =
      missing.unkept == 0 ? "" : ": not kept: " + UnkeptText(missing.unkept, missing.unkept_in);
  return Status(Code::kNotFound,
                "job " + job + " has kept no outputs" + (ended ? lost : " yet: it has not ended"),
                "'stoker get " + job +
                    " checkpoint' fetches its newest checkpoint, if it has one; " +
                    "'stoker show " + job + "' says what was kept");
}

Result<FetchedOutputs> GetOutputs(Client& client, const std::string& job,
                                  const GetOutputsOptions& options) {
  STOKER_ASSIGN(ObjectStore * store, client.store());
  STOKER_ASSIGN(auto outputs, ListOutputs(*store, job, options.attempt));
  if (outputs.empty()) return NoOutputs(client, job, options.attempt);
  STOKER_ASSIGN(const bool profiles, Choose(job, options, &outputs));
  const std::string what = profiles ? "" : options.what;
  std::string to = options.to;
  if (to.empty()) {
    STOKER_ASSIGN(to, FolderOfJob(client, job));
  }
  const bool made = !sys::FileExists(to);
  STOKER_TRY(sys::MakeDirs(to, 0755));
  STOKER_ASSIGN(const std::string folder, sys::RealPath(to));
  STOKER_ASSIGN(const auto writer, OpenDirectoryWriter(folder, options.force ? InTheWay::kReplace
                                                                             : InTheWay::kRefuse));
  Sieve sieve(folder, options.force);
  const auto got = [&] {
    Meter meter(client, "fetching", BytesOf(outputs, what));
    ThreadCrew crew;
    return DownloadOutputs(
        *store, job, what, *Metered(*writer, meter), {&crew, &client.clock(), kGetMoves},
        [&](const OutputInfo& output) {
          const bool wanted = IsOfNode(output, options) && (!profiles || IsProfile(output.path));
          return wanted ? sieve.Wants(output) : Result<bool>(false);
        },
        options.attempt);
  }();
  if (!got.ok()) {
    if (made) (void)sys::RemoveTree(folder);
    return HintAtFolder(got.status(), job, what);
  }
  if (made && options.to.empty()) LeaveUnpacked(folder);
  FetchedOutputs out;
  out.to = to;
  out.folder = folder;
  sieve.Tell(&out);
  out.replaced = std::count_if(outputs.begin(), outputs.end(),
                               [](const OutputInfo& o) { return o.replaces_earlier; });
  FindUnkept(client, job, &out);
  return out;
}

}  // namespace stoker::client

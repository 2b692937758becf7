// SPDX-License-Identifier: Apache-2.0
#include "client/submit/from.h"

#include <algorithm>
#include <cstdlib>

#include "base/text.h"
#include "client/clear/removals.h"
#include "controller/restorable.h"
#include "ledger/index.h"
#include "ledger/records.h"
#include "spec/text/git/repository.h"
#include "sys/file.h"
#include "view/lineage.h"

namespace stoker::client {
namespace {

Status NoCheckpoint(const std::string& job, const std::string& why) {
  return Status(Code::kNotFound, "job " + job + " has no checkpoint to go on from" + why,
                "Without --from the job starts at the beginning; 'stoker checkpoints " + job +
                    "' lists what was kept");
}

// One that the user named must be there now: it is not looked for again until the job begins.
Result<std::string> Named(Ledger& ledger, const Job& job, const std::string& word) {
  STOKER_ASSIGN(const auto found, FindCheckpoint(ledger, job, word));
  if (!found) {
    return Status(Code::kUsage, "'" + Printable(word) + "' is not the name of a checkpoint",
                  "--from JOB, JOB/1-3 or JOB/as-left: see 'stoker checkpoints " + job.id + "'");
  }
  if (ParseLeftOfNode(found->name)) {
    return Status(Code::kUsage,
                  found->name +
                      " is what one of several nodes left, and not of one moment with the "
                      "others': no job can go on from it",
                  "'stoker get " + job.id + " " + found->name + "' fetches it");
  }
  STOKER_ASSIGN(const Manifest manifest, LoadManifest(ledger.store(), found->job, found->name));
  STOKER_TRY(CheckObjects(ledger.store(), manifest));
  return found->job + "/" + found->name;
}

}  // namespace

Result<FromJob> FindFrom(Client& client, const std::string& word, bool dry_run) {
  STOKER_ASSIGN(Ledger * ledger, client.ledger());
  if (word.find("://") != std::string::npos || StartsWith(word, "/") || StartsWith(word, ".")) {
    return Status(
        Code::kUsage,
        "--from " + Printable(word) + ": a job can only go on from one of this store (" +
            ledger->store().url() + ")",
        "Name a job: --from JOB or --from JOB/CHECKPOINT. For a job of another store, set "
        "'store' to that one");
  }
  const size_t slash = word.find('/');
  STOKER_ASSIGN(const std::string id, client.ResolveJob(word.substr(0, slash)));
  FromJob from;
  STOKER_ASSIGN(const JobRead read, ReadJob(*ledger, id));
  from.job = read.job;
  STOKER_ASSIGN(from.text, ReadSpec(*ledger, read.job));
  STOKER_ASSIGN(from.spec, ParseStoredSpec(from.text));
  from.from = id;
  STOKER_ASSIGN(const Labels said, SaidOf(*ledger, id));
  from.called = said.name;
  STOKER_ASSIGN(from.line, LineOf(*ledger, read.job));
  if (!dry_run) STOKER_TRY(SpareLine(client, from.line, "", UnreadLists::kTold));
  if (slash != std::string::npos) {
    STOKER_ASSIGN(from.from, Named(*ledger, read.job, word.substr(slash + 1)));
    from.begins = from.from;
    return from;
  }
  Job next;
  next.retry_of = id;
  next.from = id;
  STOKER_ASSIGN(const RestorableRead found, ReadRestorable(*ledger, next, true));
  from.begins = ChooseRestore(next, found.generations);
  if (from.begins.empty()) return NoCheckpoint(id, found.cut.empty() ? "" : ": " + found.cut);
  return from;
}

Result<JobSpec> SpecOfItsOwn(Client& client, const FromJob& from, ParseOptions parse) {
  // The folder that it was submitted from, if that is on this machine; else the one we are in.
  if (!parse.overrides.workdir && !from.spec.workdir.empty() && !RepositoryOf(from.spec.workdir) &&
      !sys::DirExists(from.spec.workdir)) {
    parse.overrides.workdir = parse.base_dir;
  }
  if (!parse.overrides.name && !from.called.empty()) parse.overrides.name = from.called;
  parse.file_name = "the job file of " + from.job.id;
  ParsedSpec parsed = ParseJobSpecAll(from.text, parse);
  if (!parsed.errors.empty()) return ErrorsToStatus(std::move(parsed.errors));
  for (const std::string& note : parsed.notes) client.Say(note);
  JobSpec& spec = parsed.spec;
  if (!spec.workdir.empty()) client.Say("the code is that of " + spec.workdir + " as it is now");
  return std::move(spec);
}

void TakeOver(Client& client, const FromJob& from, bool with_paths, JobSpec* spec) {
  std::vector<std::string> taken;
  for (const auto& [name, value] : from.spec.hyperparameters) {
    const auto same = [&, &name = name](const auto& own) { return own.first == name; };
    const auto& own = spec->hyperparameters;
    if (std::any_of(own.begin(), own.end(), same)) continue;
    spec->hyperparameters.emplace_back(name, value);
    taken.push_back("--hp " + name + "=" + value);
  }
  for (const InputSpec& input : from.spec.inputs) {
    const auto same = [&](const InputSpec& own) { return own.name == input.name; };
    if (std::any_of(spec->inputs.begin(), spec->inputs.end(), same)) continue;
    spec->inputs.push_back(input);
    taken.push_back("--input " + input.name + "=" + input.source);
  }
  std::vector<std::string> differ;
  for (const auto& [name, value] : from.spec.envs) {
    const auto same = [&, &name = name](const auto& own) { return own.first == name; };
    const auto own = std::find_if(spec->envs.begin(), spec->envs.end(), same);
    const char* here = std::getenv(name.c_str());
    if (own == spec->envs.end()) {
      if (HasSecret(*spec, name)) continue;
      spec->envs.emplace_back(name, value);
      taken.push_back("--env " + name + "=" + value);
    } else if (own->second != value) {
      continue;
    }
    if (here != nullptr && here != value) differ.push_back(name);
  }
  if (with_paths && !spec->checkpoints.path_given &&
      spec->checkpoints.path != from.spec.checkpoints.path) {
    spec->checkpoints.path = from.spec.checkpoints.path;
    spec->checkpoints.path_given = true;
    taken.push_back("--checkpoints " + from.spec.checkpoints.path);
  }
  if (!taken.empty()) client.Say("from job " + from.job.id + ": " + Printable(Join(taken, ", ")));
  if (differ.empty()) return;
  client.Say("as in that job, not as in your shell: " + Join(differ, ", ") + "; --env " +
             differ[0] + " takes your shell's");
}

void SayWhereItBegins(Client& client, const FromJob& from) {
  std::string text = "goes on from " + SayCheckpoint(from.begins);
  const CheckpointName name = SplitCheckpointName(from.begins);
  const auto& suspects = from.job.suspects;
  if (name.job == from.job.id &&
      std::find(suspects.begin(), suspects.end(), name.name) != suspects.end()) {
    text += ", which that job had given up on (an attempt failed on it)";
  }
  client.Say(text);
  if (IsFinal(from.job.state)) return;
  client.Say("job " + from.job.id + " is still " + std::string(Name(from.job.state)) +
             " and goes on beside this one" +
             (from.from == from.job.id ? "; what it saves until this one begins counts too" : ""));
}

}  // namespace stoker::client

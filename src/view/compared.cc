// SPDX-License-Identifier: Apache-2.0
#include "view/compared.h"

#include "base/json.h"
#include "base/text.h"
#include "ledger/index.h"
#include "ledger/records.h"
#include "spec/parse.h"
#include "spec/text/infra.h"
#include "view/facts.h"
#include "view/job_row.h"
#include "view/metrics.h"
#include "view/ran.h"

namespace stoker {
namespace {

void Put(Compared::Section* section, const char* name, const std::string& text) {
  if (!text.empty()) (*section)[name] = text;
}

// Programs say what they were started with in event files, too: what the job file names counts.
void ReadSpecOf(Ledger& ledger, const Job& job, const MetricTotals& totals, Compared* out) {
  const auto text = ReadSpec(ledger, job);
  const auto spec = text.ok() ? ParseStoredSpec(*text) : Result<JobSpec>(text.status());
  for (auto& [name, value] :
       HyperparametersOf(spec.ok() ? &*spec : nullptr, totals.hyperparameters)) {
    out->hyperparameters[name] = value;
  }
  if (!spec.ok()) return;
  for (const auto& [name, value] : spec->envs) out->environment[name] = value;
  Put(&out->environment, "setup", spec->setup);
  Put(&out->code, "command", spec->argv.empty() ? spec->run : Join(spec->argv, " "));
  const ResourcesSpec& wanted = spec->resources;
  Put(&out->machine, "infra", wanted.infra);
  Put(&out->machine, "instance type", wanted.instance_type);
  Put(&out->machine, "image", wanted.image_id);
  Put(&out->machine, "container", spec->container.image);
  if (wanted.gpus) {
    out->machine["gpus"] =
        std::to_string(*wanted.gpus) + (wanted.gpu_name.empty() ? "" : " " + wanted.gpu_name);
  }
}

void ReadRecordOf(const Job& job, WallTime now, Compared* out) {
  Put(&out->code, "code", job.code_digest.substr(0, 10));
  // "git 1a2b3c4 dirty, 12 files, 34 kB"
  const size_t comma = job.workdir_note.find(", ");
  const bool git = StartsWith(job.workdir_note, "git ") && comma != std::string::npos;
  if (git) out->code["commit"] = job.workdir_note.substr(4, comma - 4);
  Put(&out->code, "workdir", git ? job.workdir_note.substr(comma + 2) : job.workdir_note);
  out->machine["nodes"] = std::to_string(job.num_nodes);
  if (!job.requests.empty()) {
    const Ask& ask = job.requests.back().ask;
    Put(&out->machine, "where", InfraWordOf(ask.place.provider));
    Put(&out->machine, "region", ask.place.region);
    Put(&out->machine, "zone", ask.place.zone);
    Put(&out->machine, "type", ask.type);
    Put(&out->machine, "market", ask.market);
  }
  Put(&out->machine, "computer", job.host);
  out->result["state"] = std::string(Name(job.state));
  out->result["attempts"] = std::to_string(AttemptsThatRan(job));
  out->result["ran"] = HumanDuration(RunTime(job, {}, now));
}

}  // namespace

Result<Compared> ReadCompared(Ledger& ledger, const std::string& id, WallTime now) {
  STOKER_ASSIGN(const JobRead read, ReadJob(ledger, id));
  STOKER_ASSIGN(const MetricTotals totals, ReadMetricTotals(ledger.store(), id));
  Compared out;
  out.id = id;
  STOKER_ASSIGN(const Labels said, SaidOf(ledger, id));
  out.name = said.name.empty() ? read.job.name : said.name;
  out.metrics = totals.All();
  ReadSpecOf(ledger, read.job, totals, &out);
  ReadRecordOf(read.job, now, &out);
  return out;
}

void ReadRanOf(Ledger& ledger, Compared* job, Status* trouble) {
  const auto read = ReadJob(ledger, job->id);
  if (!read.ok()) {
    *trouble = read.status();
    return;
  }
  const auto ran = ReadNewestRan(ledger.store(), read->job, trouble);
  if (!ran) return;
  job->ran.emplace();
  job->ran->machine = MachineAndPython(*ran);
  job->ran->machine.erase("machine");  // a section of its own says it
  job->ran->packages = PackageVersions(*ran);
  job->ran->variables = OtherVariables(*ran);
}

nlohmann::json ComparedJson(const Compared& job) {
  MetricTotals totals;
  totals.newest = job.metrics;
  nlohmann::json ran = nullptr;
  if (job.ran) {
    ran = {{"machine", job.ran->machine},
           {"packages", job.ran->packages},
           {"variables", job.ran->variables}};
  }
  return {{"id", job.id},
          {"name", job.name},
          {"hyperparameters", job.hyperparameters},
          {"code", job.code},
          {"environment", job.environment},
          {"machine", job.machine},
          {"metrics", TotalsJson(totals)},
          {"result", job.result},
          {"ran", ran}};
}

}  // namespace stoker

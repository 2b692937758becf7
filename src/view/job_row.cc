// SPDX-License-Identifier: Apache-2.0
#include "view/job_row.h"

#include <algorithm>

#include "base/json.h"
#include "ledger/index.h"
#include "ledger/records.h"
#include "spec/parse.h"
#include "spec/text/arguments.h"
#include "spec/text/infra.h"
#include "spec/text/script_end.h"
#include "view/facts.h"
#include "view/metrics.h"

namespace stoker {
namespace {

using nlohmann::json;

json MetricsJson(const Summary& job) {
  json all = json::object();
  for (const SummaryMetric& metric : job.metrics) {
    all[metric.name] = {{"last", NumberJson(metric.last)},
                        {"last_step", metric.last_step},
                        {"min", NumberJson(metric.min)},
                        {"max", NumberJson(metric.max)}};
  }
  return all;
}

}  // namespace

std::string WhereText(const Summary& job) {
  const std::string& at = job.place.empty() ? job.provider : job.place;
  const size_t slash = std::min(at.find('/'), at.size());
  return InfraWordOf(at.substr(0, slash)) + at.substr(slash);
}

json SummaryJson(const Summary& job) {
  const auto time = [](const std::optional<WallTime>& t) {
    return t ? json(FormatRfc3339(*t)) : json(nullptr);
  };
  return {{"id", job.id},
          {"name", job.name},
          {"command", job.command},
          {"tags", TagsOf(job)},
          {"note", NoteOf(job)},
          {"user", job.user},
          {"me", job.me},
          {"user_host", job.user_host},
          {"host", job.host},
          {"state", Name(job.state)},
          {"attempts", job.attempts},
          {"nodes", job.num_nodes},
          {"where", job.provider},
          {"place", job.place.empty() ? "" : WhereText(job)},
          {"type", job.type},
          {"instance", job.instance},
          {"created", FormatRfc3339(job.created)},
          {"started", time(job.started)},
          {"ended", time(job.ended)},
          {"run_ms", job.run_ms},
          {"reason", Name(job.reason)},
          {"why", job.why},
          {"exit_code", IsFinal(job.state) ? ExitCodeOf(job.state, job.reason, job.exit_code,
                                                        job.signal, job.unkept)
                                           : job.exit_code},
          {"signal", job.signal},
          {"newest_checkpoint", job.newest_checkpoint},
          {"retry_of", job.retry_of},
          {"metrics", MetricsJson(job)},
          {"remark", job.remark},
          {"unkept", job.unkept},
          {"rev", job.rev}};
}

std::optional<Hyperparameters> ReadHyperparameters(Ledger& ledger, const std::string& id,
                                                   bool said) {
  Job job;  // not compared with the record, which `ls` does not read
  job.id = id;
  const auto text = ReadSpec(ledger, job);
  const auto spec = text.ok() ? ParseStoredSpec(*text) : Result<JobSpec>(text.status());
  if (!spec.ok()) return std::nullopt;
  const auto totals =
      said ? ReadMetricTotals(ledger.store(), id) : Result<MetricTotals>(MetricTotals());
  return HyperparametersOf(
      &*spec, totals.ok() ? totals->hyperparameters : std::map<std::string, std::string>());
}

Hyperparameters HyperparametersOf(const JobSpec* spec,
                                  const std::map<std::string, std::string>& said) {
  Hyperparameters all;
  const auto add = [&](const std::string& name, const std::string& value) {
    const auto same = [&](const auto& each) { return each.first == name; };
    if (std::any_of(all.begin(), all.end(), same)) return;
    const bool quoted = value.size() > 1 && value[0] == '"' && value.back() == '"';
    const std::string plain = quoted ? value.substr(1, value.size() - 2) : value;
    all.emplace_back(name, ShownArgument(name, plain));
  };
  if (spec != nullptr) {
    for (const auto& [name, value] : spec->hyperparameters) add(name, value);
  }
  for (const auto& [name, value] : said) add(name, value);
  if (spec == nullptr) return all;
  const bool script = spec->argv.empty();
  for (const auto& [name, value] :
       NamedArguments(script ? ProgramCommand(spec->run) : spec->argv)) {
    const bool variable = script && value.find_first_of("$`") != std::string::npos;
    if (!variable) add(name, value);
  }
  return all;
}

}  // namespace stoker

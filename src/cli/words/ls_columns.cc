// SPDX-License-Identifier: Apache-2.0
#include "cli/words/ls_columns.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "base/letter_case.h"
#include "base/text.h"
#include "cli/terminal/context.h"
#include "cli/terminal/local_time.h"
#include "cli/words/job_fields.h"
#include "view/facts.h"
#include "view/job_row.h"

namespace stoker::cli {
namespace {

constexpr size_t kMostHyperparameters = 30;  // in a column

std::string Tags(const Summary& job) { return Join(TagsOf(job), " "); }

std::string Reason(const Summary& job) {
  if (job.reason == EndReason::kNone) return "";
  std::string text(Name(job.reason));
  if (job.reason == EndReason::kUserError || job.reason == EndReason::kNoProgress) {
    text += job.out_of_memory    ? " (out of memory)"
            : job.signal != 0    ? " (signal " + std::to_string(job.signal) + ")"
            : job.exit_code != 0 ? " (exit " + std::to_string(job.exit_code) + ")"
                                 : "";
  }
  return text + (job.why.empty() ? "" : ": " + Printable(job.why));
}

// Whose each job is and where it was submitted, when not all are this user's from this machine.
std::optional<LsColumn> Owner(Context& context, const std::vector<Summary>& jobs) {
  const Person person = context.person();
  const auto mine = [person](const Summary& job) { return WhoseIs(job, person) != Whose::kOther; };
  const bool all_mine = std::all_of(jobs.begin(), jobs.end(), [&](const Summary& job) {
    return mine(job) && (job.host.empty() || job.host == person.host);
  });
  if (all_mine) return std::nullopt;
  return LsColumn{"OWNER", {8, 2}, [=](const Summary& job) {
                    const bool here = !job.host.empty() && job.host == person.host;
                    const std::string at = here                            ? "here"
                                           : mine(job) && job.host.empty() ? ""
                                           : !job.user_host.empty()        ? job.user_host
                                                                           : job.host.substr(0, 8);
                    return job.user + (at.empty() ? "" : "@" + at);
                  }};
}

std::vector<LsColumn> Always(Context& context) {
  const WallTime now = context.clock().Wall();
  const auto status = [&context](const Summary& job) {
    const bool well = job.state == JobState::kSucceeded;
    const char* colour = well && job.unkept > 0           ? "33"
                         : well                           ? "32"
                         : job.state == JobState::kFailed ? "31"
                                                          : "36";
    return context.Style(colour, StateText(job.state, job.unkept) +
                                     (job.doing.empty() ? "" : ", " + Printable(job.doing)));
  };
  const auto duration = [now](const Summary& job) {
    const Duration ran = job.ended ? *job.ended - job.created : now - job.created;
    return HumanDuration(std::max(Duration{}, ran));
  };
  const auto age = [now](const Summary& job) {
    return HumanDuration(std::max(Duration{}, now - job.created));
  };
  return {{"JOB", {}, [](const Summary& job) { return job.id; }},
          {"NAME", {10, 0}, [](const Summary& job) { return job.name; }},
          {"STATUS", {}, status},
          {"ATTEMPT", {0, 5}, [](const Summary& job) { return std::to_string(job.attempts); }},
          {"NODES", {0, 6}, [](const Summary& job) { return std::to_string(job.num_nodes); }},
          {"AGE", {0, 1}, age},
          {"DURATION", {0, 4}, duration},
          {"WHERE", {0, 7}, [](const Summary& job) { return Printable(WhereText(job)); }},
          {"TYPE", {0, 8}, [](const Summary& job) { return Printable(job.type); }},
          {"INSTANCE", {0, 9}, [](const Summary& job) { return Printable(job.instance); }},
          {"REASON", {12, 0}, Reason},
          {"TAGS", {8, 3}, Tags},
          {"NOTE", {12, 3}, [](const Summary& job) { return Printable(NoteOf(job)); }},
          {"CHECKPOINT", {10, 3}, [](const Summary& job) { return job.newest_checkpoint; }}};
}

// Only there when --columns names them.
std::vector<LsColumn> OnRequest(Context& context) {
  const auto local = context.local_provider();
  const std::string here = local.ok() ? (*local)->host() : "";
  return {
      {"USER", {8, 0}, [](const Summary& job) { return job.user; }},
      {"HOST", {8, 0}, [here](const Summary& job) { return job.host == here ? "here" : job.host; }},
      {"SUBMITTED", {}, [](const Summary& job) { return LocalTime(job.created); }},
      {"ENDED", {}, [](const Summary& job) { return job.ended ? LocalTime(*job.ended) : ""; }},
      {"RAN", {}, [](const Summary& job) { return HumanDuration(Duration::Ms(job.run_ms)); }},
      {"COMMAND", {20, 0}, [](const Summary& job) { return Printable(job.command); }},
      {"FROM", {}, [](const Summary& job) { return job.retry_of; }}};
}

// A column of one hyperparameter; nothing when no job was given it. Each job file is read once; of
// a job that was not, what its program has said is read with its row.
std::optional<LsColumn> OfHyperparameter(
    const std::string& name, const std::map<std::string, std::optional<Hyperparameters>>& all,
    const std::shared_ptr<JobFields>& fields) {
  auto cells = std::make_shared<std::map<std::string, std::string>>();
  bool found = false;
  for (const auto& [id, values] : all) {
    if (!values) (*cells)[id] = "?";
    for (const auto& [each, value] : values.value_or(Hyperparameters())) {
      if (each != name) continue;
      found = true;
      (*cells)[id] = Printable(value);
    }
  }
  if (!found) return std::nullopt;
  return LsColumn{Printable(name), {8, 0}, [cells, fields, key = "hp." + name](const Summary& job) {
                    const auto cell = cells->find(job.id);
                    if (cell != cells->end()) return cell->second;
                    const auto said = fields->Get(job, key);
                    return said ? Printable(said->text) : "";
                  }};
}

// A column of one metric, or else of a hyperparameter that programs alone have said; nothing when
// no job has it.
std::optional<LsColumn> OfField(const std::string& name, const std::vector<Summary>& jobs,
                                const std::shared_ptr<JobFields>& fields) {
  const auto has = [&](const auto& get) {
    return std::any_of(jobs.begin(), jobs.end(), [&](const Summary& job) { return !!get(job); });
  };
  const auto metric = [fields, name](const Summary& job) { return fields->Metric(job, name); };
  const std::string key = StartsWith(name, "hp.") ? name : "hp." + name;
  const auto said = [fields, key](const Summary& job) { return fields->Get(job, key); };
  std::function<std::optional<FieldValue>(const Summary&)> get;
  if (has(metric)) {
    get = metric;
  } else if (has(said)) {
    get = said;
  } else {
    return std::nullopt;
  }
  return LsColumn{Printable(name), {8, 0}, [get](const Summary& job) {
                    const auto value = get(job);
                    return value ? Printable(value->text) : "";
                  }};
}

}  // namespace

std::string HyperparametersOf(Ledger& ledger, const std::string& id, size_t most) {
  const auto all = ReadHyperparameters(ledger, id, true);
  if (!all) return "?";
  std::vector<std::string> parts;
  for (const auto& [name, value] : *all) {
    if (parts.size() < most) parts.push_back(Printable(name + "=" + value));
  }
  if (all->size() > most) parts.push_back("+" + std::to_string(all->size() - most));
  return Join(parts, " ");
}

std::vector<LsColumn> UsualColumns(Context& context, const std::vector<Summary>& jobs,
                                   bool hyperparameters, Ledger& ledger) {
  std::vector<LsColumn> columns = Always(context);
  for (const std::string head : {"TYPE", "INSTANCE", "TAGS", "NOTE"}) {
    const auto column = std::find_if(columns.begin(), columns.end(),
                                     [&](const LsColumn& each) { return each.head == head; });
    const bool any = std::any_of(jobs.begin(), jobs.end(),
                                 [&](const Summary& job) { return !column->cell(job).empty(); });
    if (!any) columns.erase(column);
  }
  if (const auto owner = Owner(context, jobs)) columns.insert(columns.begin() + 2, *owner);
  if (hyperparameters) {
    columns.push_back({"HYPERPARAMETERS", {12, 0}, [&ledger](const Summary& job) {
                         return HyperparametersOf(ledger, job.id, kMostHyperparameters);
                       }});
  }
  return columns;
}

Result<std::vector<LsColumn>> NamedColumns(Context& context, const std::vector<Summary>& jobs,
                                           const std::string& names, Ledger& ledger) {
  std::vector<LsColumn> known = Always(context);
  for (LsColumn& column : OnRequest(context)) known.push_back(std::move(column));
  std::map<std::string, std::optional<Hyperparameters>> hyperparameters;  // by job, once needed
  const auto fields = std::make_shared<JobFields>(ledger, WallTime{});
  std::vector<LsColumn> columns;
  for (const std::string& name : Split(names, ',')) {
    const auto column = std::find_if(known.begin(), known.end(), [&](const LsColumn& each) {
      return each.head == UpperCase(name);
    });
    if (column != known.end()) {
      columns.push_back(*column);
      columns.back().rule.goes = 0;
      continue;
    }
    if (hyperparameters.empty()) {
      for (const Summary& job : jobs) hyperparameters[job.id] = ReadHyperparameters(ledger, job.id);
    }
    auto value =
        OfHyperparameter(StartsWith(name, "hp.") ? name.substr(std::string("hp.").size()) : name,
                         hyperparameters, fields);
    if (!value) value = OfField(name, jobs, fields);
    if (!value) {
      std::vector<std::string> heads;
      for (const LsColumn& each : known) heads.push_back(LowerCase(each.head));
      return Status(
          Code::kUsage,
          "--columns: '" + Printable(name) +
              "' is neither a column nor a hyperparameter or metric of these jobs",
          "The columns are " + Join(heads, ", ") + ", and each hyperparameter and metric by name");
    }
    columns.push_back(*std::move(value));
  }
  return columns;
}

}  // namespace stoker::cli

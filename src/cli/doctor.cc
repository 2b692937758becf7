// SPDX-License-Identifier: Apache-2.0
// Is everything here that a job needs? Every check says what it found and, if bad, what to do.
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/context.h"
#include "cli/table.h"
#include "cli/tiers.h"
#include "cli/verb.h"
#include "ledger/probe.h"
#include "ledger/records.h"
#include "sys/file.h"
#include "sys/process_runner.h"
#include "sys/usage.h"

namespace stoker::cli {
namespace {

struct Finding {
  std::string what;
  std::string level;  // "ok", "note", "bad"
  std::string text;
};

class Doctor {
 public:
  explicit Doctor(Context& context) : context_(context) {}

  std::vector<Finding> Examine() {
    Settings();
    Store();
    Endings();
    Programs();
    Machines();
    Timer();
    return std::move(findings_);
  }

 private:
  void Add(std::string what, std::string level, std::string text) {
    findings_.push_back({std::move(what), std::move(level), std::move(text)});
  }
  void AddStatus(const std::string& what, const Status& status, const std::string& good) {
    Add(what, status.ok() ? "ok" : "bad", status.ok() ? good : status.ToString());
  }

  void Settings() {
    const auto settings = context_.settings();
    AddStatus("settings", settings.status(),
              context_.places().config_file + (sys::FileExists(context_.places().config_file)
                                                   ? ""
                                                   : " (not there: built-in defaults)"));
  }

  void Store() {
    const auto store = context_.store();
    if (!store.ok()) return Add("store", "bad", store.status().ToString());
    const auto ledger = context_.ledger();
    if (!ledger.ok()) return Add("store", "bad", ledger.status().ToString());
    AddStatus("store", ProbeConditions(**store, "probe/" + (*ledger)->Nonce()),
              (*store)->url() + ": readable, writable, conditional writes hold; ledger " +
                  (*ledger)->id());
    const auto active = ActiveJobs(**ledger);
    if (active.ok()) Add("jobs", "ok", std::to_string(active->size()) + " active");
    const auto space = ReadDiskSpace(context_.places().state);
    if (space.ok()) {
      Add("disk", space->available_bytes < (1 << 30) ? "note" : "ok",
          HumanSize(space->available_bytes) + " free at " + context_.places().state);
    }
  }

  void Endings() {
    const auto works = WorkingMechanisms();
    if (works.empty()) {
      return Add("ending tasks", "bad", "no way to end everything that a task started works here");
    }
    const bool sure = works[0] != "subreaper";
    Add("ending tasks", sure ? "ok" : "note",
        Join(works, ", ") + (sure ? " work here; the first is used"
                                  : " is all that works here: best effort against programs that "
                                    "fork without pause"));
  }

  void Programs() {
    for (const char* name : {"git", "bash", "python3"}) {
      const auto found = FindProgram(name);
      Add(name, found.empty() ? "note" : "ok",
          !found.empty() ? found
          : std::string(name) == "git"
              ? "not here: work directories are listed by .gitignore and .stokerignore alone"
          : std::string(name) == "bash" ? "not here: 'run' and 'setup' are given to /bin/sh"
                                        : "not here: requirements.txt cannot be installed");
    }
  }

  void Machines() {
    const auto provider = context_.provider("local");
    const auto ledger = context_.ledger();
    if (!provider.ok() || !ledger.ok()) return;
    const auto instances = (*provider)->Describe((*ledger)->id(), "");
    if (!instances.ok()) return Add("machines", "bad", instances.status().ToString());
    int running = 0;
    int orphans = 0;
    const auto local = context_.local_provider();
    const auto leftovers =
        local.ok() ? (*local)->Leftovers() : Result<std::vector<std::string>>(local.status());
    if (leftovers.ok() && !leftovers->empty()) {
      Add("left-overs", "note",
          std::to_string(leftovers->size()) +
              " instances are over but not cleared away; 'stoker gc' does it");
    }
    for (const InstanceSeen& instance : *instances) {
      running += instance.state != InstanceState::kGone;
      const auto job = ReadJob(**ledger, instance.job);
      orphans += job.status().Is(Code::kNotFound);
    }
    Add("machines", orphans > 0 ? "note" : "ok",
        std::to_string(running) + " of this ledger run on this computer" +
            (orphans > 0 ? ", " + std::to_string(orphans) +
                               " of jobs that have no record: they end by their own limit; "
                               "'stoker gc' ends them when that is past"
                         : ""));
  }

  void Timer() {
    const bool installed = TimerInstalled(context_);
    Add("recovery timer", installed ? "ok" : "note",
        installed
            ? "installed"
            : "not installed: a machine that dies without notice waits until a stoker verb runs; "
              "'stoker controller --install' closes this gap");
  }

  static std::string FindProgram(const std::string& name) {
    const char* path = std::getenv("PATH");
    for (const std::string& folder : Split(path == nullptr ? "" : path, ':')) {
      if (!folder.empty() && sys::FileExists(folder + "/" + name)) return folder + "/" + name;
    }
    return "";
  }

  Context& context_;
  std::vector<Finding> findings_;
};

Status Run(Context& context) {
  const std::vector<Finding> findings = Doctor(context).Examine();
  nlohmann::json all = nlohmann::json::array();
  std::vector<std::vector<std::string>> rows;
  bool bad = false;
  for (const Finding& finding : findings) {
    bad |= finding.level == "bad";
    all.push_back({{"what", finding.what}, {"level", finding.level}, {"text", finding.text}});
    const char* colour = finding.level == "ok" ? "32" : finding.level == "bad" ? "31" : "33";
    rows.push_back({context.Style(colour, finding.level), finding.what, Printable(finding.text)});
  }
  context.Print(context.json ? all.dump() + "\n" : FormatTable(rows));
  if (bad) context.exit_code = 1;
  return Status::Ok();
}

}  // namespace

Verb DoctorVerb() {
  Verb verb;
  verb.name = "doctor";
  verb.summary = "Check this machine, the store and the settings";
  verb.description =
      "Checks what a job needs: the store and its conditional writes, ways to end tasks, programs, "
      "left-over machines, the recovery timer. Ends with 1 when something is bad.";
  verb.examples = {"stoker doctor", "stoker doctor --json"};
  verb.run = [](Context& context) { return Run(context); };
  return verb;
}

}  // namespace stoker::cli

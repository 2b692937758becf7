// SPDX-License-Identifier: Apache-2.0
#include "client/doctor.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <utility>

#include "base/text.h"
#include "checkpoint/checkpoint_store.h"
#include "client/away.h"
#include "client/login_end.h"
#include "client/tiers.h"
#include "client/timer.h"
#include "job/request.h"
#include "ledger/probe.h"
#include "ledger/records.h"
#include "provider/local/local_capacity.h"
#include "spec/text/host_words.h"
#include "spec/text/infra.h"
#include "store/bucket_check.h"
#include "sys/command.h"
#include "sys/container/engines.h"
#include "sys/file.h"
#include "sys/task/process_runner.h"
#include "sys/task/task_limits.h"
#include "sys/task/usage.h"

extern char** environ;

namespace stoker::client {
namespace {

constexpr int64_t kNeeded = 64 << 20;  // the binary twice, records, logs
constexpr int64_t kComfortable = 1 << 30;
constexpr int64_t kAskMs = 20'000;

class Doctor {
 public:
  Doctor(Client& client, std::string job) : client_(client), job_(std::move(job)) {}

  // Of machines elsewhere, instead of this one.
  std::vector<Finding> ExamineWith(std::vector<Finding> there) {
    Settings();
    Store();
    for (Finding& finding : there) findings_.push_back(std::move(finding));
    Timer();
    return std::move(findings_);
  }

  std::vector<Finding> Examine() {
    Settings();
    Store();
    if (!job_.empty()) Checkpoints();
    Disks();
    Endings();
    Limits();
    Programs();
    Engines();
    Machines();
    Logins();
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
    const auto settings = client_.settings();
    AddStatus("settings", settings.status(),
              client_.places().config_file + (sys::FileExists(client_.places().config_file)
                                                  ? ""
                                                  : " (not there: built-in defaults)"));
  }

  void Store() {
    const auto settings = client_.settings();
    if (settings.ok()) bucket_ = CheckBucket((*settings)->store);
    for (BucketFinding& fact : bucket_.facts) {
      const char* level = fact.level == BucketFinding::Level::kOk     ? "ok"
                          : fact.level == BucketFinding::Level::kNote ? "note"
                                                                      : "bad";
      Add(std::move(fact.what), level, std::move(fact.text));
    }
    const auto ledger = client_.ledger();
    if (client_.no_store_yet()) return Add("store", "note", ledger.status().ToString());
    const auto store = client_.store();
    if (!store.ok()) return Add("store", "bad", store.status().ToString());
    if (!ledger.ok()) return Add("store", "bad", ledger.status().ToString());
    AddStatus("store", ProbeConditions(**store, "probe/" + (*ledger)->Nonce()),
              (*store)->url() + ": readable, writable, conditional writes hold; ledger " +
                  (*ledger)->id());
    const auto active = ActiveJobs(**ledger);
    if (active.ok()) Add("jobs", "ok", std::to_string(active->size()) + " running or just ended");
  }

  // Each file system once that a job writes to.
  void Disks() {
    std::vector<std::string> folders = {client_.places().state, client_.places().cache};
    const auto store = client_.store();
    if (store.ok() && StartsWith((*store)->url(), "/")) folders.push_back((*store)->url());
    std::map<dev_t, std::vector<std::string>> disks;
    for (const std::string& folder : folders) {
      std::string there = folder;  // or the folder in which it will be made
      while (there.size() > 1 && !sys::DirExists(there)) there.resize(there.rfind('/'));
      struct stat info {};
      if (::stat(there.empty() ? "/" : there.c_str(), &info) == 0) {
        disks[info.st_dev].push_back(there.empty() ? "/" : there);
      }
    }
    for (const auto& [device, paths] : disks) {
      const auto space = ReadDiskSpace(paths[0]);
      if (!space.ok()) continue;
      const bool bad = space->available_bytes < kNeeded;
      Add("disk",
          bad                                     ? "bad"
          : space->available_bytes < kComfortable ? "note"
                                                  : "ok",
          HumanSize(space->available_bytes) + " free for " + Join(paths, ", ") +
              (bad ? ": a job needs at least " + HumanSize(kNeeded) +
                         " beside its own files; 'stoker gc --older-than 30d' makes room"
                   : ""));
    }
  }

  // What the store costs at the rate at which this job saves.
  void Checkpoints() {
    const auto rate = SavingRate();
    if (!rate.ok()) return Add("checkpoints", "note", rate.status().message());
    const double price = bucket_.dollars_per_gb_month;
    std::string text = HumanSize(rate->bytes) + " each " + HumanDuration(rate->interval) + ": " +
                       HumanSize(rate->bytes_per_hour) + " an hour";
    if (price > 0) {
      const double days = bucket_.keeps_deleted_days;
      const double gb_hour = static_cast<double>(rate->bytes_per_hour) / 1e9;
      text += fmt::format("; of those kept, {:.2f} $ a month at list price",
                          static_cast<double>(rate->kept_bytes) / 1e9 * price);
      if (days > 0) {
        text += fmt::format("; old ones that the bucket keeps for {:g} days: {:.2f} $ a month more",
                            days, gb_hour * 24 * days * price);
      } else if (days < 0) {
        text += fmt::format(
            "; old versions, which nothing clears away: {:.2f} $ a month more for "
            "each day of training",
            gb_hour * 24 * price);
      }
    }
    Add("checkpoints", "ok", text);
  }

  struct Rate {
    int64_t bytes = 0;  // of one
    Duration interval;
    int64_t bytes_per_hour = 0;
    int64_t kept_bytes = 0;
  };
  Result<Rate> SavingRate() {
    STOKER_ASSIGN(const std::string id, client_.ResolveJob(job_));
    STOKER_ASSIGN(Ledger * ledger, client_.ledger());
    STOKER_ASSIGN(const auto all, ListCheckpoints(ledger->store(), id));
    if (all.size() < 2) return Status(Code::kNotFound, "fewer than two: no rate is known yet");
    Rate rate;
    WallTime first = all.front().created;
    WallTime last = first;
    for (const CheckpointInfo& info : all) {
      first = std::min(first, info.created);
      last = std::max(last, info.created);
      rate.kept_bytes += info.bytes;
    }
    const auto count = static_cast<int64_t>(all.size());
    rate.bytes = rate.kept_bytes / count;
    rate.interval = Duration::Ms(std::max<int64_t>((last - first).ms / (count - 1), 1));
    rate.bytes_per_hour = static_cast<int64_t>(static_cast<double>(rate.bytes) * 3.6e6 /
                                               static_cast<double>(rate.interval.ms));
    return rate;
  }

  void Endings() {
    const auto works = WorkingMechanisms();
    if (works.empty()) {
      return Add("ending tasks", "bad", "nothing here can end every process that a program starts");
    }
    const bool sure = works[0] != "subreaper";
    Add("ending tasks", sure ? "ok" : "note",
        Join(works, ", ") + (sure ? " work here; the first is used"
                                  : " is all that works here: a program that forks without "
                                    "pause may escape it"));
  }

  void Limits() {
    const auto tree = ThisCgroupTree();
    const auto place = tree.ok() ? FindLimitPlace(*tree) : Result<LimitPlace>(tree.status());
    const std::string counted =
        "memory and CPUs that jobs ask for are counted here, and not held: ";
    if (!place.ok()) return Add("limits", "note", counted + place.status().ToString());
    if (!place->why_not_all.empty()) {
      return Add("limits", "note",
                 std::string(place->memory ? "memory" : "CPUs") +
                     " that jobs ask for is held by cgroups, and no more than that: " +
                     place->why_not_all);
    }
    Add("limits", "ok", "memory and CPUs that jobs ask for are held by cgroups");
  }

  void Programs() {
    for (const char* name : {"git", "bash", "python3"}) {
      const auto found = FindProgram(name);
      Add(name, found.empty() ? "note" : "ok",
          !found.empty() ? found
          : std::string(name) == "git"
              ? "not here: work directories are listed by reading .gitignore and .stokerignore"
          : std::string(name) == "bash" ? "not here: 'run' and 'setup' run in /bin/sh"
                                        : "not here: requirements.txt cannot be installed");
    }
    PythonEnvironments();
  }

  // Debian and Ubuntu have a python3 whose venv lacks what it installs pip with.
  void PythonEnvironments() {
    const std::string python = FindProgram("python3");
    if (python.empty()) return;
    std::vector<std::string> environment;
    for (char** entry = environ; *entry != nullptr; ++entry) environment.emplace_back(*entry);
    const auto asked =
        sys::RunCommands({{{python, "-c", "import venv, ensurepip"}, environment}}, kAskMs);
    const bool good = asked[0].ok() && asked[0]->exit_code == 0;
    Add("python3 -m venv", good ? "ok" : "note",
        good ? "makes environments for requirements.txt and setup"
             : "cannot make environments with pip by itself: each time uv does, or is fetched, or "
               "pip is. "
               "On Debian and Ubuntu: apt install python3-venv");
  }

  // For jobs with a container.
  void Engines() {
    const std::vector<FoundEngine> found = FindEngines();
    if (found.empty()) {
      Add("containers", "ok", "neither podman, docker nor apptainer: no job may ask for one");
    }
    const bool cdi = HasCdiFiles();
    for (const FoundEngine& one : found) {
      const bool good = one.trouble.empty();
      const std::string gpus = std::string("; ") + TellGpuWay(one.facts, cdi);
      Add("containers", good ? "ok" : "note", good ? TellEngine(one.facts) + gpus : one.trouble);
    }
  }

  void Machines() {
    const auto provider = client_.provider(kLocalProvider);
    const auto ledger = client_.ledger();
    if (!provider.ok() || !ledger.ok()) return;
    const auto instances = (*provider)->Describe((*ledger)->id(), "");
    if (!instances.ok()) return Add("machines", "bad", instances.status().ToString());
    int running = 0;
    int orphans = 0;
    const auto local = client_.local_provider();
    const auto leftovers =
        local.ok() ? (*local)->Leftovers() : Result<std::vector<std::string>>(local.status());
    if (leftovers.ok() && !leftovers->empty()) {
      Add("left-overs", "note",
          std::to_string(leftovers->size()) +
              " machines have ended but are not cleared away; 'stoker gc' does it");
    }
    for (const InstanceSeen& instance : *instances) {
      running += instance.state != InstanceState::kGone;
      const auto job = ReadJob(**ledger, instance.job);
      orphans += job.status().Is(Code::kNotFound);
    }
    if (local.ok()) {
      const Status said = CheckCapacity();
      Add("queue", said.ok() ? "ok" : "note",
          (said.ok() ? "" : said.ToString() + "; it is passed over. ") + (*local)->Shared());
    }
    Add("machines", orphans > 0 ? "note" : "ok",
        std::to_string(running) + " of this ledger run on this computer" +
            (orphans > 0 ? ", " + std::to_string(orphans) +
                               " of jobs that have no record: they end by their own limit; "
                               "'stoker gc' ends them when that is past"
                         : ""));
  }

  void Logins() {
    const std::string end = TellLoginEnd(ThisLogin());
    if (!end.empty()) Add("logins", "note", end);
  }

  void Away() {
    for (const AwaySeen& seen : SeeAway(client_)) {
      std::string text = Told(seen);
      if (seen.installed) text += "; set up " + HumanDuration(*seen.installed) + " ago";
      if (!seen.version.empty()) text += "; it is stoker " + seen.version;
      if (!seen.did.empty()) text += "; last: " + seen.did;
      if (!seen.bound.empty()) text += "; it may ask for " + seen.bound;
      Add("recovery away", IsLate(seen) || !seen.trouble.empty() ? "bad" : "ok", text);
    }
  }

  void Timer() {
    Away();
    const bool installed = TimerInstalled(client_);
    Add("recovery timer", installed ? "ok" : "note",
        installed ? "installed"
                  : std::string("none: after a machine dies without notice, its job waits for "
                                "the next stoker command; ") +
                        (TimerPossible() ? "'stoker controller --install' installs one"
                                         : "a 'stoker controller' that you keep running helps"));
  }

  static std::string FindProgram(const std::string& name) {
    const char* path = std::getenv("PATH");
    for (const std::string& folder : Split(path == nullptr ? "" : path, ':')) {
      if (!folder.empty() && sys::FileExists(folder + "/" + name)) return folder + "/" + name;
    }
    return "";
  }

  Client& client_;
  const std::string job_;  // "" = none
  BucketCheck bucket_;
  std::vector<Finding> findings_;
};

Result<Findings> ExamineThere(Client& client, const std::string& word) {
  const auto infra = CheckInfra("--infra", word);
  if (!infra.ok()) return Status(Code::kUsage, infra.status().message(), infra.status().next());
  const Infra parts = ParseInfra(*infra);
  STOKER_ASSIGN(Broker * broker, client.broker(parts.provider));
  const auto ledger = client.ledger();
  const Result<LedgerRef> ref = ledger.ok() ? LedgerRef{(*ledger)->id(), &(*ledger)->store()}
                                            : Result<LedgerRef>(ledger.status());
  STOKER_ASSIGN(Findings found, broker->Examine(parts.where, ref));
  const BrokerTraits& traits = broker->traits();
  // Machines that are not there yet have none that could be asked.
  if (traits.rents && traits.runs_containers && !found.all.empty()) {
    found.all.push_back({"containers", "ok",
                         "by an engine of the image, else by one that the first attempt installs"});
  }
  return found;
}

}  // namespace

Result<std::vector<Finding>> Examine(Client& client, const std::string& job,
                                     const std::string& infra) {
  Findings there;
  if (!infra.empty()) {
    STOKER_ASSIGN(there, ExamineThere(client, infra));
  }
  if (there.whole) return std::move(there.all);
  Doctor doctor(client, job);
  return there.all.empty() ? doctor.Examine() : doctor.ExamineWith(std::move(there.all));
}

Result<int> GiveUpBox(Client& client, const std::string& box) {
  if (!IsHostWord(box)) return Status(Code::kUsage, "--gone: " + Printable(box) + " is no host");
  STOKER_ASSIGN(Ledger * ledger, client.ledger());
  STOKER_ASSIGN(const std::vector<std::string> jobs, ActiveJobs(*ledger));
  STOKER_ASSIGN(const std::vector<Broker*> brokers, client.brokers());
  int requests = 0;
  for (const std::string& job : jobs) {
    for (Broker* broker : brokers) {
      STOKER_ASSIGN(const int some,
                    broker->GiveUp({ledger->id(), &ledger->store()}, job, box, client.user()));
      requests += some;
    }
  }
  return requests;
}

}  // namespace stoker::client

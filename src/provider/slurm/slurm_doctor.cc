// SPDX-License-Identifier: Apache-2.0
#include "provider/slurm/slurm_doctor.h"

#include <algorithm>
#include <map>

#include "base/letter_case.h"
#include "base/text.h"
#include "provider/slurm/slurm_accounting.h"
#include "provider/slurm/slurm_places.h"
#include "sys/file.h"

namespace stoker {
namespace {

constexpr Duration kCheckLimit = Duration::Seconds(20);
constexpr int kNodeSeconds = 15;  // that a node is waited for
constexpr Duration kTryLimit = Duration::Seconds(60);

using Config = std::map<std::string, std::string>;

// "Name    = value", as `scontrol show config` prints it.
Config ParseConfig(const std::string& text) {
  Config out;
  for (const std::string& line : Split(text, '\n')) {
    const size_t at = line.find(" = ");
    if (at == std::string::npos) continue;
    const std::string name = line.substr(0, line.find(' '));
    out[name] = Printable(line.substr(at + 3));
  }
  return out;
}

// $1 is the state folder. Which engines the node has, in their words, and CDI files.
constexpr char kOnNode[] = R"sh(test -w "$1" || exit 1
for each in podman docker apptainer singularity; do
  command -v "$each" >/dev/null 2>&1 && "$each" --version 2>/dev/null | head -n 1
done
ls /etc/cdi /var/run/cdi 2>/dev/null | grep -q nvidia && echo 'CDI files of NVIDIA'
exit 0
)sh";

std::string EnginesNote(const std::string& state, const std::string& partition) {
  return state + "/slurm-engines/" + partition;
}

// For `stoker places`, which waits for no node. `said`: what kOnNode prints, the engines' own
// words.
void NoteEngines(const std::string& state, const std::string& partition, const std::string& said) {
  std::string text;
  for (const std::string& line : Split(said, '\n')) {
    std::string name = LowerCase(line.substr(0, line.find_first_of(" -")));
    if (name == "singularity") name = "apptainer";
    const bool known = name == "podman" || name == "docker" || name == "apptainer";
    if (known && text.find(name) == std::string::npos) text += name + "\n";
  }
  if (!IsSafeName(partition) || !sys::MakeDirs(state + "/slurm-engines", 0700).ok()) return;
  (void)sys::WriteFileAtomic(EnginesNote(state, partition), text, 0600, false);
}

class SlurmDoctor {
 public:
  SlurmDoctor(SlurmTools& tools, std::string state, std::string partition)
      : tools_(tools), state_(std::move(state)), partition_(std::move(partition)) {}

  std::vector<Finding> Examine() {
    if (!Programs()) return std::move(findings_);
    Settings();
    if (Partition()) Node();
    return std::move(findings_);
  }

 private:
  void Add(const char* what, const char* level, std::string text) {
    findings_.push_back({what, level, std::move(text)});
  }

  bool Programs() {
    std::vector<std::string> missing;
    Status first;
    std::string version;
    for (const char* program : {"sbatch", "squeue", "scancel", "scontrol", "sinfo", "srun"}) {
      const auto said = tools_.Run({program, "--version"}, kCheckLimit);
      if (said.ok()) {
        version = said->substr(0, said->find('\n'));
        continue;
      }
      missing.push_back(program);
      if (first.ok()) first = said.status();
    }
    if (missing.empty()) {
      Add("slurm", "ok", Printable(version) + ": sbatch, squeue, scancel, scontrol, sinfo, srun");
      return true;
    }
    Add("slurm", "bad", "cannot run " + Join(missing, ", ") + ": " + first.ToString());
    return false;
  }

  void Settings() {
    const auto said = tools_.Run({"scontrol", "show", "config"}, kCheckLimit);
    if (!said.ok()) {
      return Add("controller", "bad",
                 said.status().ToString() + "; jobs wait until slurmctld answers");
    }
    Config config = ParseConfig(*said);
    Add("controller", "ok",
        "cluster " + config["ClusterName"] + " answers; a program has " + config["KillWait"] +
            " between SIGTERM and SIGKILL");
    Accounting(config);
  }

  void Accounting(Config& config) {
    const std::string storage = config["AccountingStorageType"];
    if (storage.empty() || storage == "accounting_storage/none" || storage == "(null)") {
      return Add("accounting", "note",
                 "is off here: Slurm forgets a job " + config["MinJobAge"] +
                     " after its end, and counts no GPU-hours; how it ended stands in stoker's own "
                     "report");
    }
    const auto asked = AskSacct(tools_, {1}, "");
    if (!asked.ok() || !asked->has_value()) {
      return Add("accounting", "note",
                 storage +
                     " is on, and cannot be asked from here, so 'stoker show' tells no hours: " +
                     (asked.ok() ? "there is no sacct" : asked.status().ToString()));
    }
    const bool gpus = config["AccountingStorageTRES"].find("gres/gpu") != std::string::npos;
    Add("accounting", gpus ? "ok" : "note",
        storage + ": 'stoker show' tells node-hours and CPU-hours" +
            (gpus ? ", and GPU-hours"
                  : "; GPUs are not counted here (AccountingStorageTRES has no gres/gpu)"));
  }

  bool Partition() {
    auto places = AskSlurmPlaces(tools_);
    if (!places.ok()) {
      Add("partition", "bad", places.status().ToString());
      return false;
    }
    if (partition_.empty() && !FindDefault()) return false;
    const auto found = std::find_if(places->begin(), places->end(), [&](const PlaceInfo& place) {
      return place.infra == "slurm/" + partition_;
    });
    if (found == places->end()) {
      Add("partition", "bad",
          "there is no partition " + Printable(partition_) + WhichPartitions(places, partition_));
      return false;
    }
    const std::string size = std::to_string(found->machines) +
                             (found->machines == 1 ? " node, " : " nodes, ") +
                             std::to_string(found->running.value_or(0)) + " jobs run, " +
                             std::to_string(found->waiting.value_or(0)) + " wait";
    Add("partition", found->trouble.empty() ? "ok" : "bad",
        partition_ + ": " + (found->trouble.empty() ? size : found->trouble));
    if (found->limit) {
      Add("time limit", "ok",
          HumanDuration(*found->limit) +
              " at most; a longer job goes on in the next allocation (slurm.time asks for less)");
    } else {
      Add("time limit", "note",
          "none in " + partition_ + ": a job runs until it is done, or 'slurm.time' is over");
    }
    return true;
  }

  bool FindDefault() {
    const auto said = tools_.Run({"sinfo", "--noheader", "--format=%P"}, kCheckLimit);
    for (const std::string& line : Split(said.value_or(""), '\n')) {
      if (!line.empty() && line.back() == '*') partition_ = line.substr(0, line.size() - 1);
    }
    if (!partition_.empty()) return true;
    Add("partition", "bad", "this cluster has no default partition; write --infra slurm/PARTITION");
    return false;
  }

  void Node() {
    std::string said;
    const auto tried =
        tools_.Run({"srun", "--partition=" + partition_, "--nodes=1", "--ntasks=1", "--time=1",
                    "--immediate=" + std::to_string(kNodeSeconds), "--job-name=stoker-doctor",
                    "--chdir=/", "--quiet", "sh", "-c", kOnNode, "sh", state_},
                   kTryLimit, "", &said);
    const std::string folder = state_ + " (the state folder)";
    if (tried.ok()) {
      Add("node", "ok", "a node of " + partition_ + " sees " + folder);
      return Engines(*tried);
    }
    if (said.find("exited with exit code 1") != std::string::npos ||
        said.find("Exited with exit code 1") != std::string::npos) {
      return Add("node", "bad",
                 "a node of " + partition_ + " does not see " + folder +
                     ", or may not write there; XDG_DATA_HOME moves it to a disk that all nodes "
                     "see");
    }
    Add("node", "note", "not tried whether nodes see " + folder + ": " + tried.status().ToString());
  }

  void Engines(const std::string& said) {
    std::string list;
    for (const std::string& line : Split(said, '\n')) {
      if (!line.empty()) list += (list.empty() ? "" : "; ") + Printable(line);
    }
    NoteEngines(state_, partition_, said);
    if (!list.empty()) return Add("containers", "ok", "that node has " + list);
    Add("containers", "note",
        "that node has neither podman, docker nor apptainer in its PATH: a job with a container "
        "fails there. Load the module that has one first, if there is one");
  }

  SlurmTools& tools_;
  const std::string state_;
  std::string partition_;
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> ExamineSlurm(SlurmTools& tools, const std::string& state,
                                  const std::string& partition) {
  return SlurmDoctor(tools, state, partition).Examine();
}

std::optional<std::vector<std::string>> SlurmEngines(const std::string& state,
                                                     const std::string& partition) {
  if (!IsSafeName(partition)) return std::nullopt;
  const auto text = sys::ReadFile(EnginesNote(state, partition), 1024);
  if (!text.ok()) return std::nullopt;
  std::vector<std::string> out;
  for (const std::string& line : Split(*text, '\n')) {
    if (!line.empty()) out.push_back(line);
  }
  return out;
}

}  // namespace stoker

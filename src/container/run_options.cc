// SPDX-License-Identifier: Apache-2.0
#include "container/run_options.h"

#include <string_view>

#include "base/text.h"

namespace stoker {
namespace {

constexpr std::string_view kLife =
    "Leave it out: the container begins and ends with the job's attempt";
constexpr std::string_view kNetwork = "Leave it out: the container has the machine's network";
constexpr std::string_view kTerminal = "Leave it out: what the program writes is the job's log";
constexpr std::string_view kVolumes = "Write it under container.volumes: [/source:/target]";
constexpr std::string_view kEnvs = "Write variables under 'envs', secret ones under 'secrets'";
constexpr std::string_view kMemory = "Write resources.memory";
constexpr std::string_view kCpus = "Write resources.cpus";
constexpr std::string_view kOwner =
    "Leave it out: the program runs as who submitted the job, so that its files are that user's";
constexpr std::string_view kSeen =
    "Leave it out: what the container writes is gone with it, and of the machine it sees what the "
    "job "
    "file names";
constexpr std::string_view kFound =
    "Leave it out: stoker finds its containers again by their own labels";

struct Row {
  std::string_view name;
  std::string_view means;
};

// By the long name: what to write.
constexpr Row kRefused[] = {
    {"pid", "Leave it out: stoker ends all processes of the container, which are its own"},
    {"detach", kLife},
    {"rm", kLife},
    {"restart", "Leave it out: stoker begins the next attempt (resources.job_recovery)"},
    {"replace", kLife},
    {"stop-signal", "Write checkpoints.signal and stop_grace"},
    {"stop-timeout", "Write stop_grace"},
    {"timeout", "Write limits.max_duration"},
    {"init", "Leave it out: stoker itself is the container's first process"},
    {"init-path", "Leave it out: stoker itself is the container's first process"},
    {"systemd", "Leave it out: stoker itself is the container's first process"},
    {"name", kFound},
    {"label", kFound},
    {"label-file", kFound},
    {"annotation", kFound},
    {"cidfile", kFound},
    {"pidfile", kFound},
    {"conmon-pidfile", kFound},
    {"pod", kFound},
    {"pod-id-file", kFound},
    {"interactive", kTerminal},
    {"tty", kTerminal},
    {"attach", kTerminal},
    {"detach-keys", kTerminal},
    {"sig-proxy", kTerminal},
    {"log-driver", kTerminal},
    {"log-opt", kTerminal},
    {"env", kEnvs},
    {"env-file", kEnvs},
    {"env-host", kEnvs},
    {"env-merge", kEnvs},
    {"unsetenv", kEnvs},
    {"unsetenv-all", kEnvs},
    {"secret", "Write it under 'secrets'"},
    {"entrypoint", "Write it under container.entrypoint"},
    {"workdir", "Write 'workdir': it lies at the same path inside"},
    {"volume", kVolumes},
    {"volumes-from", kVolumes},
    {"mount", kVolumes},
    {"rootfs", "Write container.image"},
    {"pull", "Leave it out: the image is pulled once a machine"},
    {"platform", "Name an image of the machine's architecture"},
    {"arch", "Name an image of the machine's architecture"},
    {"os", "Name an image of the machine's architecture"},
    {"variant", "Name an image of the machine's architecture"},
    {"user", "Write it under container.user"},
    {"userns", kOwner},
    {"uidmap", kOwner},
    {"gidmap", kOwner},
    {"subuidname", kOwner},
    {"subgidname", kOwner},
    {"passwd", kOwner},
    {"passwd-entry", kOwner},
    {"group-entry", kOwner},
    {"network", kNetwork},
    {"net", kNetwork},
    {"network-alias", kNetwork},
    {"publish", kNetwork},
    {"publish-all", kNetwork},
    {"expose", kNetwork},
    {"ip", kNetwork},
    {"mac-address", kNetwork},
    {"hostname", "Leave it out: the nodes of a job have names of their own (NODES)"},
    {"uts", "Leave it out: the nodes of a job have names of their own (NODES)"},
    {"add-host", "Write it into the machine's /etc/hosts: the container has the machine's names"},
    {"memory", kMemory},
    {"memory-swap", kMemory},
    {"memory-reservation", kMemory},
    {"oom-kill-disable", kMemory},
    {"oom-score-adj", kMemory},
    {"cpus", kCpus},
    {"cpu-period", kCpus},
    {"cpu-quota", kCpus},
    {"cgroup-parent", "Leave it out: stoker says which group the container is in"},
    {"cgroups", "Leave it out: stoker says which group the container is in"},
    {"gpus", "Write resources.gpus"},
    {"nv", "Write resources.gpus"},
    {"bind", kVolumes},
    {"home", kSeen},
    {"no-home", kSeen},
    {"contain", kSeen},
    {"containall", kSeen},
    {"cleanenv", kEnvs},
    {"overlay", kSeen},
    {"writable", kSeen},
    {"writable-tmpfs", kSeen},
    {"scratch", kSeen},
    {"pwd", "Write 'workdir': it lies at the same path inside"},
    {"cwd", "Write 'workdir': it lies at the same path inside"},
    {"no-init", "Leave it out: stoker itself is the container's first process"},
    {"runtime", "Leave it out: it is the engine's own setting"},
    {"health-cmd", "Write limits.stall"},
    {"help", "It runs nothing"},
};

// "-v" is the engine's; people write it as often as the long form.
constexpr Row kLongOf[] = {
    {"-a", "attach"},   {"-c", "cpu-shares"},  {"-d", "detach"},       {"-e", "env"},
    {"-h", "hostname"}, {"-i", "interactive"}, {"-it", "interactive"}, {"-l", "label"},
    {"-m", "memory"},   {"-p", "publish"},     {"-P", "publish-all"},  {"-t", "tty"},
    {"-u", "user"},     {"-v", "volume"},      {"-w", "workdir"},
};

std::string Named(const std::string& word) { return "'" + Printable(word) + "'"; }

bool IsOptionName(std::string_view name) {
  if (name.empty() || !IsAlnum(name.front())) return false;
  for (const char c : name) {
    if (!IsAlnum(c) && c != '-') return false;
  }
  return true;
}

template <size_t N>
const Row* Find(const Row (&rows)[N], std::string_view name) {
  for (const Row& row : rows) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

Status Judge(const std::string& written, std::string_view name) {
  const Row* const refused = Find(kRefused, name);
  if (refused == nullptr) return Status::Ok();
  return Status(Code::kInvalid, Named(written) + " is not handed on", std::string(refused->means));
}

}  // namespace

Result<std::vector<std::string>> CheckRunOptions(const std::vector<std::string>& words) {
  std::vector<std::string> out;
  bool takes_value = false;  // the one before, written without "="
  for (const std::string& word : words) {
    if (!StartsWith(word, "-")) {
      if (!takes_value) {
        return Status(Code::kInvalid, Named(word) + " is no option of 'run'",
                      "Write options as --name=value; the image stands under container.image");
      }
      out.back() += "=" + word;
      takes_value = false;
      continue;
    }
    if (!StartsWith(word, "--")) {
      const Row* const known = Find(kLongOf, word);
      if (known != nullptr) STOKER_TRY(Judge(word, known->means));
      return Status(Code::kInvalid, Named(word) + " is a short option",
                    "Write the long one, as --name=value");
    }
    const size_t sign = word.find('=');
    const std::string name = word.substr(2, sign == std::string::npos ? sign : sign - 2);
    if (!IsOptionName(name)) {
      return Status(Code::kInvalid, Named(word) + " is no option of 'run'",
                    "Write options as --name=value");
    }
    STOKER_TRY(Judge("--" + name, name));
    out.push_back(word);
    takes_value = sign == std::string::npos;
  }
  return out;
}

}  // namespace stoker

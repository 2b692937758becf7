// SPDX-License-Identifier: Apache-2.0
#include "container/run_options.h"

#include <algorithm>
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
constexpr std::string_view kFirst = "Leave it out: stoker itself is the container's first process";
constexpr std::string_view kPulled = "Leave it out: the image is pulled once a machine";
constexpr std::string_view kLogin = "Write container.login";
constexpr std::string_view kTrust =
    "Put the registry's certificate where the engine looks for it: /etc/containers/certs.d, "
    "/etc/docker/certs.d";
constexpr std::string_view kPlatform = "Name an image of the machine's architecture";
constexpr std::string_view kHealth = "Write limits.stall: no health check is run";
constexpr std::string_view kHostName =
    "Leave it out: the nodes of a job have names of their own (NODES)";
constexpr std::string_view kHosts =
    "Write it into the machine's /etc/hosts: the container has the machine's names";
constexpr std::string_view kGroup = "Leave it out: stoker says which group the container is in";
constexpr std::string_view kFolder = "Write 'workdir': it lies at the same path inside";
constexpr std::string_view kWindows = "Leave it out: it is for containers of Windows";

struct Row {
  std::string_view name;
  std::string_view means;
};

// By the long name: what to write.
constexpr Row kRefused[] = {
    {"pid", "Leave it out: stoker ends all processes of the container, which are its own"},
    {"no-pid", "Leave it out: stoker ends all processes of the container, which are its own"},
    {"detach", kLife},
    {"rm", kLife},
    {"restart", "Leave it out: stoker begins the next attempt (resources.job_recovery)"},
    {"replace", kLife},
    {"stop-signal", "Write checkpoints.signal and stop_grace"},
    {"stop-timeout", "Write stop_grace"},
    {"timeout", "Write limits.max_duration"},
    {"init", kFirst},
    {"init-path", kFirst},
    {"systemd", kFirst},
    {"sdnotify", kFirst},
    {"requires", "Leave it out: a job's container begins by itself"},
    {"preserve-fds", "Leave it out: the container is not begun by your shell"},
    {"preserve-fd", "Leave it out: the container is not begun by your shell"},
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
    {"workdir", kFolder},
    {"volume", kVolumes},
    {"volumes-from", kVolumes},
    {"volume-driver", kVolumes},
    {"use-api-socket", "Write container.volumes: [/var/run/docker.sock:/var/run/docker.sock]"},
    {"mount", kVolumes},
    {"rootfs", "Write container.image"},
    {"pull", kPulled},
    {"retry", kPulled},
    {"retry-delay", kPulled},
    {"disable-content-trust", kPulled},
    {"creds", kLogin},
    {"authfile", kLogin},
    {"decryption-key", kLogin},
    {"docker-login", kLogin},
    {"cert-dir", kTrust},
    {"tls-verify", kTrust},
    {"rmi", "Leave it out: the image stays for the next attempt; 'stoker gc' clears up"},
    {"platform", kPlatform},
    {"arch", kPlatform},
    {"os", kPlatform},
    {"variant", kPlatform},
    {"user", "Write it under container.user"},
    {"userns", kOwner},
    {"uidmap", kOwner},
    {"gidmap", kOwner},
    {"subuidname", kOwner},
    {"subgidname", kOwner},
    {"hostuser", kOwner},
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
    {"ip6", kNetwork},
    {"link", kNetwork},
    {"link-local-ip", kNetwork},
    {"network-args", kNetwork},
    {"netns-path", kNetwork},
    {"mac-address", kNetwork},
    {"hostname", kHostName},
    {"no-hostname", kHostName},
    {"domainname", kHostName},
    {"uts", kHostName},
    {"add-host", kHosts},
    {"no-hosts", kHosts},
    {"hosts-file", kHosts},
    {"memory", kMemory},
    {"memory-swap", kMemory},
    {"memory-reservation", kMemory},
    {"kernel-memory", kMemory},
    {"oom-kill-disable", kMemory},
    {"oom-score-adj", kMemory},
    {"cpus", kCpus},
    {"cpu-period", kCpus},
    {"cpu-quota", kCpus},
    {"cpu-count", kWindows},
    {"cpu-percent", kWindows},
    {"io-maxbandwidth", kWindows},
    {"io-maxiops", kWindows},
    {"isolation", kWindows},
    {"cgroup-parent", kGroup},
    {"cgroups", kGroup},
    {"apply-cgroups", kGroup},
    {"gpus", "Write resources.gpus"},
    {"nv", "Write resources.gpus"},
    {"bind", kVolumes},
    {"home", kSeen},
    {"no-home", kSeen},
    {"contain", kSeen},
    {"containall", kSeen},
    {"compat", kSeen},
    {"sharens", kSeen},
    {"cleanenv", kEnvs},
    {"overlay", kSeen},
    {"writable", kSeen},
    {"writable-tmpfs", kSeen},
    {"scratch", kSeen},
    {"pwd", kFolder},
    {"cwd", kFolder},
    {"no-init", kFirst},
    {"runtime", "Leave it out: it is the engine's own setting"},
    {"health-cmd", kHealth},
    {"health-interval", kHealth},
    {"health-retries", kHealth},
    {"health-timeout", kHealth},
    {"health-start-period", kHealth},
    {"health-start-interval", kHealth},
    {"health-on-failure", kHealth},
    {"health-startup-cmd", kHealth},
    {"health-startup-interval", kHealth},
    {"health-startup-retries", kHealth},
    {"health-startup-success", kHealth},
    {"health-startup-timeout", kHealth},
    {"health-log-destination", kHealth},
    {"health-max-log-count", kHealth},
    {"health-max-log-size", kHealth},
    {"no-healthcheck", "Leave it out: no health check is run"},
    {"help", "It runs nothing"},
};

// "-v" is the engine's; people write it as often as the long form, and together: "-it", "-v/a:/b".
constexpr Row kLongOf[] = {
    {"-a", "attach"},   {"-c", "cpu-shares"},  {"-d", "detach"},  {"-e", "env"},
    {"-h", "hostname"}, {"-i", "interactive"}, {"-l", "label"},   {"-m", "memory"},
    {"-p", "publish"},  {"-P", "publish-all"}, {"-q", "quiet"},   {"-t", "tty"},
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
      const Row* const known = Find(kLongOf, std::string_view(word).substr(0, 2));
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

bool Gives(const std::vector<std::string>& options, const std::string& option) {
  return std::any_of(options.begin(), options.end(), [&](const std::string& word) {
    return word == option || StartsWith(word, option + "=");
  });
}

bool HasOwnShared(const std::vector<std::string>& options) {
  bool own = true;
  for (const std::string& word : options) {
    if (!StartsWith(word, "--ipc=")) continue;
    const std::string mode = word.substr(word.find('=') + 1);
    own = mode.empty() || mode == "private" || mode == "shareable";
  }
  return own;
}

}  // namespace stoker

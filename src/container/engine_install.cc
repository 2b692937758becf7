// SPDX-License-Identifier: Apache-2.0
#include "container/engine_install.h"

namespace stoker {
namespace {

// A source of packages that is away, of those that an image names, hinders nobody: what is wanted
// may lie in another. Whatever else installs as the machine comes up is waited for.
#define STOKER_BY_APT(package)                                                    \
  "export DEBIAN_FRONTEND=noninteractive\n"                                       \
  "apt-get -qq update || :\n"                                                     \
  "exec apt-get -qq -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=600 install --yes " \
  "--no-install-recommends " package "\n"

// The first that fits. Amazon Linux 2023 has docker; podman lies in its supplementary packages.
// Source: "Supplementary packages for Amazon Linux (SPAL)" (its user guide).
constexpr InstallWay kWays[] = {
    {"apt-get", "", EngineKind::kPodman, STOKER_BY_APT("podman")},
    {"apt-get", "", EngineKind::kDocker, STOKER_BY_APT("docker.io")},
    {"dnf", "amzn", EngineKind::kDocker,
     "dnf -q -y install docker && exec systemctl start docker\n"},
    {"dnf", "amzn", EngineKind::kPodman,
     "dnf -q -y install spal-release && exec dnf -q -y install podman\n"},
    {"dnf", "", EngineKind::kPodman, "exec dnf -q -y install podman\n"},
};
#undef STOKER_BY_APT

}  // namespace

const InstallWay* WayToInstall(std::string_view wanted, std::string_view system,
                               const std::function<bool(std::string_view)>& has) {
  for (const InstallWay& way : kWays) {
    if (!way.system.empty() && way.system != system) continue;
    if (!wanted.empty() && wanted != EngineName(way.engine)) continue;
    if (has(way.tool)) return &way;
  }
  return nullptr;
}

std::string_view SystemId(std::string_view os_release) {
  constexpr std::string_view kKey = "ID=";
  while (!os_release.empty()) {
    const size_t end = os_release.find('\n');
    std::string_view line = os_release.substr(0, end);
    if (line.substr(0, kKey.size()) == kKey) {
      line.remove_prefix(kKey.size());
      if (line.size() >= 2 && line.front() == '"') line = line.substr(1, line.size() - 2);
      return line;
    }
    if (end == std::string_view::npos) break;
    os_release.remove_prefix(end + 1);
  }
  return "";
}

}  // namespace stoker

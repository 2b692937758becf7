// SPDX-License-Identifier: Apache-2.0
#include "client/login_end.h"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <utility>

#include "base/text.h"
#include "sys/file.h"

namespace stoker::client {
namespace {

constexpr char kIsSystemd[] = "/run/systemd/system";  // sd_booted(3)
constexpr char kLingering[] = "/var/lib/systemd/linger/";
constexpr char kMain[] = "/etc/systemd/logind.conf";
// From the least to the first: a name in a later one stands for the same in those before.
constexpr const char* kAdded[] = {"/usr/lib/systemd/logind.conf.d",
                                  "/usr/local/lib/systemd/logind.conf.d",
                                  "/run/systemd/logind.conf.d", "/etc/systemd/logind.conf.d"};

// The last that is said; "" = nothing is.
std::string Setting(const LoginFacts& login, const std::string& name) {
  std::string found;
  for (const std::string& text : login.settings) {
    for (const std::string& line : Split(text, '\n')) {
      if (StartsWith(line, name + "=")) found = line.substr(name.size() + 1);
    }
  }
  return found;
}

bool Names(const std::string& list, const std::string& user) {
  const std::vector<std::string> words = Split(list, ' ');
  return std::find(words.begin(), words.end(), user) != words.end();
}

// Distributions are built to end nothing unless told to.
bool EndsProcesses(const LoginFacts& login) {
  const std::string said = Setting(login, "KillUserProcesses");
  if (said != "yes" && said != "true" && said != "1" && said != "on") return false;
  const std::string only = Setting(login, "KillOnlyUsers");
  if (!only.empty() && !Names(only, login.user)) return false;
  const std::string spared = Setting(login, "KillExcludeUsers");
  return !Names(spared.empty() ? "root" : spared, login.user);
}

}  // namespace

LoginFacts ThisLogin() {
  LoginFacts out;
  if (!sys::DirExists(kIsSystemd)) return out;
  out.cgroups = sys::ReadFile("/proc/self/cgroup", 64 << 10).value_or("");
  const passwd* const self = getpwuid(geteuid());
  const char* const named = std::getenv("USER");  // for whom this machine's own files do not know
  out.user = self != nullptr ? self->pw_name : named != nullptr ? named : "";
  out.lingers = !out.user.empty() && sys::FileExists(kLingering + out.user);
  out.settings.push_back(sys::ReadFile(kMain, 64 << 10).value_or(""));
  std::map<std::string, std::string> added;
  for (const char* folder : kAdded) {
    for (const sys::DirEntry& one : sys::ListDir(folder).value_or({})) {
      if (EndsWith(one.name, ".conf")) added[one.name] = std::string(folder) + "/" + one.name;
    }
  }
  for (const auto& [name, path] : added) {
    out.settings.push_back(sys::ReadFile(path, 64 << 10).value_or(""));
  }
  return out;
}

std::string TellEndOfOwnSystemd(const LoginFacts& login) {
  if (login.user.empty() || login.lingers) return "";
  return "ends with the last login of " + login.user +
         ", as lingering is off; 'loginctl enable-linger' has it stay";
}

std::string TellLoginEnd(const LoginFacts& login) {
  const bool in_manager = login.cgroups.find("/user@") != std::string::npos;
  const bool in_session = !in_manager && login.cgroups.find("/session-") != std::string::npos;
  const std::string end = TellEndOfOwnSystemd(login);
  if (in_manager && !end.empty()) return "what is begun from here " + end;
  if (!in_session || !EndsProcesses(login)) return "";
  return "what is begun from here ends with this login (KillUserProcesses=yes in logind.conf); "
         "begin it by 'systemd-run --user --scope -p Delegate=yes stoker …'" +
         std::string(end.empty() ? "" : ", after 'loginctl enable-linger'");
}

}  // namespace stoker::client

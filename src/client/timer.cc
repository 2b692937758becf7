// SPDX-License-Identifier: Apache-2.0
#include "client/timer.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "base/digest.h"
#include "base/text.h"
#include "client/login_end.h"
#include "sys/command.h"
#include "sys/file.h"

namespace stoker::client {
namespace {

constexpr char kUnit[] = "stoker-controller";

std::string UnitFolder(const Client& client) {
  const std::string& config = client.places().config_file;  // …/stoker/config.yaml
  return config.substr(0, config.rfind("/stoker/")) + "/systemd/user";
}

// The crontab line is found again by this mark, which also names the state folder it serves.
std::string Mark(const Client& client) {
  return "# stoker-controller " + Sha256Hex(client.places().state).substr(0, 12);
}

// The command with this user's own environment; its output when it ended with 0.
Result<std::string> Capture(const std::vector<std::string>& argv) {
  std::vector<std::string> env;
  for (char** at = environ; *at != nullptr; ++at) env.emplace_back(*at);
  const auto results = sys::RunCommands({{argv, env}}, 10'000);
  if (!results[0].ok()) return results[0].status();
  if (results[0]->exit_code != 0) {
    return Status(Code::kUnavailable, Join(argv, " ") + " failed: " + Printable(results[0]->err));
  }
  return results[0]->out;
}

Status SetCrontab(const Client& client, const std::string& table) {
  const std::string file = client.places().state + "/crontab.new";
  STOKER_TRY(sys::WriteFileAtomic(file, table, 0600, false));
  const Status set = Capture({"crontab", file}).status();
  (void)sys::RemoveTree(file);
  return set;
}

bool SystemdServesThisUser() {
  const auto answer = Capture({"systemctl", "--user", "show-environment"});
  return answer.ok();
}

// Where this user's folders are is not known to cron and systemd: NAME, VALUE.
std::vector<std::pair<std::string, std::string>> Folders() {
  std::vector<std::pair<std::string, std::string>> out;
  for (const char* name : {"XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"}) {
    const char* value = std::getenv(name);
    if (value != nullptr && value[0] == '/') out.emplace_back(name, value);
  }
  return out;
}

// A word of a unit file, see systemd.syntax(7) and, for '%', systemd.unit(5).
std::string UnitWord(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '%') out += '%';
    out += c;
  }
  return out + "\"";
}

Status InstallSystemd(Client& client) {
  const std::string folder = UnitFolder(client);
  std::string settings;
  for (const auto& [name, value] : Folders())
    settings += "Environment=" + UnitWord(name + "=" + value) + "\n";
  STOKER_TRY(sys::MakeDirs(folder, 0755));
  STOKER_TRY(sys::WriteFileAtomic(
      folder + "/" + kUnit + ".service",
      "[Unit]\nDescription=Look after stoker jobs\n\n[Service]\nType=oneshot\n"
      // Machines of this computer outlive the pass that started them.
      "KillMode=process\n" +
          settings + "ExecStart=" + UnitWord(client.self_exe()) + " controller --once\n"));
  STOKER_TRY(
      sys::WriteFileAtomic(folder + "/" + kUnit + ".timer",
                           "[Unit]\nDescription=Look after stoker jobs every minute\n\n[Timer]\n"
                           "OnBootSec=30s\nOnUnitActiveSec=1min\nAccuracySec=5s\n\n[Install]\n"
                           "WantedBy=timers.target\n"));
  STOKER_TRY(Capture({"systemctl", "--user", "daemon-reload"}).status());
  STOKER_TRY(
      Capture({"systemctl", "--user", "enable", "--now", std::string(kUnit) + ".timer"}).status());
  const std::string end = TellEndOfOwnSystemd(ThisLogin());
  client.Say("installed the systemd user timer " + std::string(kUnit) + ".timer" +
             (end.empty() ? "" : ", which " + end));
  return Status::Ok();
}

std::string WithoutMark(const std::string& crontab, const std::string& mark) {
  std::string out;
  for (const std::string& line : Split(crontab, '\n')) {
    if (!line.empty() && line.find(mark) == std::string::npos) out += line + "\n";
  }
  return out;
}

bool CronRuns() {
  for (const char* file : {"/run/crond.pid", "/run/cron.pid", "/var/run/crond.pid"}) {
    if (sys::FileExists(file)) return true;
  }
  std::error_code error;
  for (const auto& process : std::filesystem::directory_iterator("/proc", error)) {
    const auto name = sys::ReadFile(process.path().string() + "/comm", 64);
    if (name.ok() && (*name == "cron\n" || *name == "crond\n" || *name == "fcron\n")) return true;
  }
  return false;
}

bool OnPath(const std::string& program) {
  const char* path = std::getenv("PATH");
  for (const std::string& folder : Split(path == nullptr ? "" : path, ':')) {
    if (::access((folder + "/" + program).c_str(), X_OK) == 0) return true;
  }
  return false;
}

std::string OncePass(const Client& client) {
  std::string command;
  for (const auto& [name, value] : Folders()) command += name + "=" + ShellQuote(value) + " ";
  return command + ShellQuote(client.self_exe()) + " controller --once >/dev/null 2>&1";
}

Status InstallCron(Client& client) {
  const auto old = Capture({"crontab", "-l"});
  if (old.status().Is(Code::kNotFound)) {
    return Status(
        Code::kInvalid,
        "no timer was installed: this machine has neither a systemd user manager nor cron",
        "Run this every minute, from whatever starts programs here:\n  " + OncePass(client) +
            "\nor keep this running:\n  " + ShellQuote(client.self_exe()) + " controller");
  }
  // An empty crontab makes `crontab -l` fail: then there is nothing to keep.
  std::string table = WithoutMark(old.ok() ? *old : "", Mark(client));
  const std::string command = OncePass(client);
  std::string escaped;
  for (const char c : command) escaped += c == '%' ? std::string("\\%") : std::string(1, c);
  table += "* * * * * " + escaped + " " + Mark(client) + "\n";
  STOKER_TRY(SetCrontab(client, table));
  client.Say("added a line to your crontab; it runs every minute");
  if (!CronRuns()) {
    client.Say(
        "cron does not seem to run here, so nothing happens yet: start it, or keep "
        "'stoker controller' running");
  }
  return Status::Ok();
}

}  // namespace

bool TimerPossible() {
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  const std::string folder =
      runtime != nullptr && runtime[0] == '/' ? runtime : "/run/user/" + std::to_string(::getuid());
  return sys::FileExists(folder + "/systemd/private") || (OnPath("crontab") && CronRuns());
}

Status InstallTimer(Client& client) {
  STOKER_TRY(sys::MakeDirs(client.places().state, 0700));
  STOKER_TRY(SystemdServesThisUser() ? InstallSystemd(client) : InstallCron(client));
  STOKER_TRY(sys::WriteFileAtomic(client.places().state + "/timer-installed", ""));
  return Status::Ok();
}

Status UninstallTimer(Client& client) {
  const std::string folder = UnitFolder(client);
  const std::string mark = client.places().state + "/timer-installed";
  bool found = sys::FileExists(mark);
  if (sys::FileExists(folder + "/" + kUnit + ".timer")) {
    found = true;
    (void)Capture({"systemctl", "--user", "disable", "--now", std::string(kUnit) + ".timer"});
    STOKER_TRY(sys::RemoveTree(folder + "/" + kUnit + ".timer"));
    STOKER_TRY(sys::RemoveTree(folder + "/" + kUnit + ".service"));
  }
  const auto table = Capture({"crontab", "-l"});
  if (table.ok() && table->find(Mark(client)) != std::string::npos) {
    found = true;
    STOKER_TRY(SetCrontab(client, WithoutMark(*table, Mark(client))));
  }
  STOKER_TRY(sys::RemoveTree(mark));
  client.Say(found ? "the timer is removed" : "there was no timer to remove");
  return Status::Ok();
}

}  // namespace stoker::client

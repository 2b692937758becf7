// SPDX-License-Identifier: Apache-2.0
#include "agent/signals.h"

#include <signal.h>

#include <utility>

#include "base/text.h"

namespace stoker {

int SignalNumber(const std::string& name) {
  static constexpr std::pair<const char*, int> kNames[] = {
      {"SIGUSR1", SIGUSR1}, {"SIGUSR2", SIGUSR2},   {"SIGHUP", SIGHUP},
      {"SIGINT", SIGINT},   {"SIGQUIT", SIGQUIT},   {"SIGALRM", SIGALRM},
      {"SIGURG", SIGURG},   {"SIGWINCH", SIGWINCH}, {"SIGTERM", SIGTERM}};
  for (const auto& [known, number] : kNames) {
    if (name == known) return number;
  }
  return 0;
}

std::string TellSignal(const std::string& name, const std::vector<SignalledProcess>& told,
                       const std::string& nobody) {
  constexpr size_t kNamed = 3;
  constexpr size_t kLetters = 60;
  if (told.empty()) return "no process of the program handles " + name + ": " + nobody;
  std::vector<std::string> named;
  for (const SignalledProcess& process : told) {
    if (named.size() == kNamed) break;
    std::string command = Printable(process.command);
    const size_t name = command.rfind('/', command.find(' '));  // of its file, without the folder
    if (name != std::string::npos) command.erase(0, name + 1);
    if (command.size() > kLetters) command = command.substr(0, kLetters - 3) + "...";
    named.push_back(command + " (process " + std::to_string(process.pid) + ")");
  }
  std::string text = name + " to " + Join(named, ", ");
  if (told.size() > kNamed) text += " and " + std::to_string(told.size() - kNamed) + " more";
  return text;
}

}  // namespace stoker

// SPDX-License-Identifier: Apache-2.0
#include "node/env/kept/env_source.h"

#include <algorithm>

#include "base/digest.h"
#include "base/text.h"

namespace stoker::node {
namespace {

// They choose no package.
constexpr std::string_view kOfTheWay[] = {"timeout",
                                          "retries",
                                          "proxy",
                                          "cert",
                                          "client-cert",
                                          "cache-dir",
                                          "no-cache-dir",
                                          "trusted-host",
                                          "quiet",
                                          "verbose",
                                          "no-input",
                                          "progress-bar",
                                          "disable-pip-version-check"};

bool IsOfTheWay(const std::string& setting) {
  return std::find(std::begin(kOfTheWay), std::end(kOfTheWay), setting) != std::end(kOfTheWay);
}

// Variables of uv that hold secrets, or folders of this machine.
bool IsNoChoice(const std::string& name) {
  for (const char* part : {"PASSWORD", "USERNAME", "TOKEN", "KEYRING", "CACHE", "TIMEOUT"}) {
    if (name.find(part) != std::string::npos) return true;
  }
  return false;
}

// Each part with its length, so that no two run together.
class KeyMaker {
 public:
  void Part(const std::string& text) { sum_.Update(std::to_string(text.size()) + ":" + text); }
  std::string Hex() { return sum_.Hex(); }

 private:
  Sha256 sum_;
};

// Files of the machine that are not part of the code: "-r /x", "-r/x", "x @ /y", "--find-links=/z".
bool LeadsOutside(const std::string& text) {
  for (const std::string& line : Split(text, '\n')) {
    if (StartsWith(line, "#")) continue;
    if (line.find("file:") != std::string::npos || line.find("..") != std::string::npos)
      return true;
    for (size_t at = line.find('/'); at != std::string::npos; at = line.find('/', at + 1)) {
      const bool option = at == 2 && line[0] == '-';
      if (at == 0 || option || std::string_view(" \t=@~").find(line[at - 1]) < 5) return true;
    }
  }
  return false;
}

std::string WhyNot(const EnvSource& source, const std::string& text) {
  if (source.asked.find("\nparent ") != std::string::npos) {
    return "it stands on an activated environment, which other machines do not have";
  }
  if (LeadsOutside(text)) return "it is made of files that are not part of the code";
  if (text.find("${") != std::string::npos) return "its text names variables of this machine";
  for (const Pin& pin : source.pins) {
    if (pin.commit.empty()) return "which commit " + Printable(pin.source) + " is was not known";
  }
  for (const auto& [name, value] : source.settings) {
    const bool file = name == "constraint" || name == "requirement" || name == "config-settings" ||
                      (name == "find-links" && value.find("://") == std::string::npos);
    if (file) return "pip is set up with " + name + " on this machine";
  }
  for (const auto& [name, value] : source.variables) {
    if (StartsWith(name, "UV_") && (name.find("CONSTRAINT") != std::string::npos ||
                                    name.find("OVERRIDE") != std::string::npos ||
                                    name.find("FIND_LINKS") != std::string::npos)) {
      return "uv is set up with " + name + " on this machine";
    }
  }
  return "";
}

}  // namespace

const char kAskMachine[] =
    "import os, sys, platform, sysconfig\n"
    "print(os.path.realpath(sys.executable), platform.machine(), *platform.libc_ver())\n"
    "print(sysconfig.get_platform(), sysconfig.get_config_var('SOABI'))\n"
    "from importlib import metadata\n"
    "print(*sorted({'%s==%s' % (d.metadata['Name'], d.version) for d in "
    "metadata.distributions()}))\n";

std::string WithoutPasswords(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t at = text.find("://");
    if (at == std::string_view::npos) break;
    out += text.substr(0, at + 3);
    text.remove_prefix(at + 3);
    const size_t host = text.substr(0, text.find_first_of("/ \t\r\n\"'")).rfind('@');
    if (host != std::string_view::npos) text.remove_prefix(host + 1);
  }
  return out += text;
}

SharedKey KeyOfSource(const EnvSource& source) {
  const std::string text = WithoutPasswords(source.text);
  if (std::string why = WhyNot(source, text); !why.empty()) return {"", std::move(why)};
  KeyMaker maker;
  maker.Part("stoker environment 1");
  for (const std::string& part :
       {source.asked, source.machine, text, source.code_digest, source.setup}) {
    maker.Part(part);
  }
  for (const Pin& pin : source.pins) maker.Part(WithoutPasswords(pin.source) + " " + pin.commit);
  if (!source.image.empty()) maker.Part("image " + source.image);
  std::vector<std::string> chosen;
  for (const auto& [name, value] : source.settings) {
    if (!IsOfTheWay(name)) chosen.push_back("pip " + name + "=" + WithoutPasswords(value));
  }
  for (const auto& [name, value] : source.variables) {
    if (StartsWith(name, "UV_") && !IsNoChoice(name)) {
      chosen.push_back(name + "=" + WithoutPasswords(value));
    }
  }
  std::sort(chosen.begin(), chosen.end());
  for (const std::string& one : chosen) maker.Part(one);
  return {maker.Hex(), ""};
}

}  // namespace stoker::node

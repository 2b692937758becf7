// SPDX-License-Identifier: Apache-2.0
// uv in the place of pip: what it is asked so that it does as pip would, and how it is had.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "node/env/env_maker.h"

namespace stoker::node {

// What pip's files of settings and PIP_… say, in pip's words: {"index-url", "https://…"}.
using PipSettings = std::vector<std::pair<std::string, std::string>>;

// How uv is asked for a file of requirements.
struct UvAsk {
  std::string only_pip;                // why it is not, in a few words; "" = it is
  std::vector<std::string> arguments;  // besides -r
  bool no_index = false;               // nothing may be fetched from one
  Variables env;                       // of settings; secrets may be among them
};
// Pure. `texts`: the file, and those that it names.
UvAsk AskForUv(const std::vector<std::string>& texts, const PipSettings& settings);

// What of the variables of `ask` the command has not itself.
void AddSettings(const UvAsk& ask, Variables* env);

// uv did not begin, as it does not read what the file says. Pure; `output`: all that it printed.
bool UvRefuses(std::string_view output);

// "uv 0.13.9 (x86_64-…)" is one that knows all that it is asked. Pure.
bool UvIsNewEnough(std::string_view version);

// A wheel of PyPI that holds uv, by its digest.
struct UvWheel {
  std::string_view name;
  std::string_view sha256;
};
// For a machine and libc as Python names them ("x86_64", "glibc"); nullopt: there is none. Pure.
std::optional<UvWheel> UvWheelFor(std::string_view machine, std::string_view libc);

Result<PipSettings> ReadPipSettings(const EnvMaker& by);

// The uv of the PATH, or one that lies in `folder`, or is fetched into it, which is said. "": none
// can be had; why is said. `fetch`: it may be fetched from the index of `settings`.
std::string FindUv(const EnvMaker& by, const std::string& folder, const PipSettings& settings,
                   bool fetch);

// Installs what the file `requirements` asks for into `venv`, where that has no such package and
// what is seen from it has none. `copy`: nothing that the environment holds is shared with uv's
// cache, as it may be changed in place. Returns how uv ended, nullopt where uv could not be shown
// what is seen (pip is to be asked); what it printed goes to `sink`.
Result<std::optional<TaskExit>> InstallByUv(const EnvMaker& by, const std::string& uv,
                                            const UvAsk& ask, const std::string& venv,
                                            const std::string& requirements, bool copy,
                                            LogSink& sink);

}  // namespace stoker::node

// SPDX-License-Identifier: Apache-2.0
// Makes virtual environments, also by Pythons that lack parts: Debian keeps ensurepip in the
// package python3-venv, which images of clouds do not have.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "node/env/shell_step.h"
#include "port/process_runner.h"

namespace stoker::node {

using Variables = std::vector<std::pair<std::string, std::string>>;

// Where and with what the commands run that make one.
struct EnvMaker {
  const std::string& workdir;
  const Variables& env;
  ShellStep& step;
  LogSink& sink;
};

// The python3 of the PATH: its path and version, what it lacks, and where it is one of a virtual
// environment, its packages and when they changed. Two that say the same make the same. kInvalid:
// there is none that runs.
Result<std::string> AskPython(const EnvMaker& by);

// How an environment is made; pure. `asked`: of AskPython; `uv`: that program is on the PATH.
enum class EnvWay {
  kVenv,     // as ever
  kUv,       // by uv: Python itself cannot
  kWheel,    // without pip, which is then fetched as a wheel of known digest where it is needed
  kSystem,   // without pip: the system's own is seen from within
  kNothing,  // Python lacks all of it
};
EnvWay ChooseEnvWay(const std::string& asked, bool uv);
// Something in it is to be installed. Pure.
bool AsksForPackages(const std::string& requirements);

// In `venv`, anew: an environment that sees the packages of the interpreter's own and has what the
// file `requirements` asks for; without a file, an empty one that has a pip. `text`: of that file.
// kInvalid, with what to do: it cannot be made.
Status MakeEnv(const EnvMaker& by, const std::string& asked, const std::string& venv,
               const std::string& requirements, const std::string& text);

}  // namespace stoker::node

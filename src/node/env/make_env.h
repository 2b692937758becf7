// SPDX-License-Identifier: Apache-2.0
// Makes virtual environments, also by Pythons that lack parts: Debian keeps ensurepip in the
// package python3-venv, which images of clouds do not have.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "node/env/env_maker.h"
#include "node/env/login/login.h"

namespace stoker::node {

// The python3 of the PATH: its path and version, what it lacks, and where it is one of a virtual
// environment, its packages and when they changed. Two that say the same make the same. kInvalid:
// there is none that runs.
Result<std::string> AskPython(const EnvMaker& by);

// "/usr/bin/python3 3.11.2 (main, …" -> "3.11.2". Pure; of AskPython, as the next.
std::string PythonVersionOf(const std::string& asked);
// Why packages for that Python are left to pip: before 3.8 it does not tell which it has
// (importlib.metadata). "" = they are not.
std::string OnlyPipOf(const std::string& asked);

// How the folder is made; pure. `asked`: of AskPython; `uv`: there is one; `pip_seen`: the
// interpreter has a pip, which is seen from within.
enum class EnvWay {
  kVenv,     // python3 -m venv
  kUv,       // by uv, with the pip that is seen
  kUvSeed,   // by uv, which also brings a pip: Python itself cannot
  kWheel,    // without pip, which is then fetched as a wheel of known digest where it is needed
  kSystem,   // without pip: the system's own is seen from within
  kNothing,  // Python lacks all of it
};
EnvWay ChooseEnvWay(const std::string& asked, bool uv, bool pip_seen);
// Something in it is to be installed. Pure.
bool AsksForPackages(const std::string& requirements);

struct EnvWanted {
  std::string venv;          // the folder, made anew
  std::string tools;         // a folder for what makes it, such as uv; it stays
  std::string requirements;  // a file; "" = an environment for setup alone, with a pip
  std::string text;          // of that file
  bool setup = false;        // runs in it, and may change any file
  std::string source = "requirements.txt";  // what the file says is from there, for people
  std::vector<AddressLogin> logins = {};    // which `by` has beside the addresses (login/beside.h)
};
// An environment that sees the packages of the interpreter's own and has what the file asks for, by
// uv where it can be had and does as pip would (uv.h), else by pip. kInvalid, with what to do: it
// cannot be made.
Status MakeEnv(const EnvMaker& by, const std::string& asked, const EnvWanted& wanted);

}  // namespace stoker::node

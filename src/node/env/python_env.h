// SPDX-License-Identifier: Apache-2.0
// A virtual environment made from requirements.txt or a project's own files, cached by content on
// this machine.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "job/packed_code.h"
#include "node/env/shell_step.h"
#include "port/object_store.h"
#include "sys/file.h"

namespace stoker::node {

// In an environment that is whole; its time of change is when a job last began with it.
inline constexpr char kPythonEnvMarker[] = "/.stoker-complete";

struct PythonEnvPlaces {
  std::string workdir;      // requirements.txt lies in it
  std::string cache_dir;    // environments that jobs share
  std::string private_dir;  // for one that refers to `workdir` itself (-e .)
  std::string code_digest;  // what `workdir` was unpacked from
  std::string setup;        // the job's; "" = none
  std::vector<Pin> pins;    // of requirements.txt, for all attempts of the job
  // Of a setup that has none, its environment is nobody else's (kept).
  bool setup_cached = false;
  std::string image = "";       // EnvSource::image
  ObjectStore* kept = nullptr;  // where machines share environments (node/env/kept); null: nowhere
  std::string program = "";     // the job's: shell, or words with blanks between them
};

struct PythonEnv {
  std::string folder;  // "" = there is none, and none is needed
  sys::ScopedFd held;  // of one that belongs to this attempt alone: open it stays its
};

// Makes (or finds) the environment of the job; none without requirements.txt, what
// ChooseProject takes in its place, or the environment.yml that it demands (conda_env.h), and
// setup. Keyed by the file's content, what it refers to in the work directory, and the interpreter,
// so that a changed line or a changed ./pkg makes a new one and an unchanged file costs
// milliseconds. What the interpreter has stays visible, an image's packages or those of the virtual
// environment in which the user stands: it is not downloaded again, nor written to.
//
// With pins, pip gets their commits in the place of branches, and they count for the key. Where one
// has none, the newest that was made from the same file is taken, and said.
//
// A job with a setup, which may install whatever it likes, has one that nobody else uses while the
// job runs: keyed by setup and requirements together, one of several where nodes run at once, and
// found again, with what setup installed, by the next. Where python3 is missing or makes none,
// such a job without requirements.txt goes without, and the log says so.
//
// With a store, what this machine lacks is taken from there where another has kept it (with a
// setup only where that has a cache), and what is built is noted for EnvKeeper.
//
// Safe when several nodes of this machine ask at once, and when a builder is killed half-way.
// `env` is the environment that setup gets. Errors: what pip printed last is in `sink`.
Result<PythonEnv> PreparePythonEnv(const PythonEnvPlaces& places,
                                   const std::vector<std::pair<std::string, std::string>>& env,
                                   ShellStep& step, LogSink& sink);

// From now on `venv` is found again, also after a power cut: all of it is on the disk before its
// marker is.
Status MarkPythonEnvWhole(const std::string& venv);

// It is not as it should be, since setup failed in it: it is made anew when it is asked for again.
void SpoilPythonEnv(const PythonEnv& env);

// Puts the environment first: PATH, VIRTUAL_ENV, of one of conda's CONDA_PREFIX; drops PYTHONHOME.
void ActivatePythonEnv(const std::string& venv,
                       std::vector<std::pair<std::string, std::string>>& env);

}  // namespace stoker::node

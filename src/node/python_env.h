// SPDX-License-Identifier: Apache-2.0
// A virtual environment made from requirements.txt, cached by content on this machine.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "node/shell_step.h"

namespace stoker::node {

struct PythonEnvPlaces {
  std::string workdir;      // requirements.txt lies in it
  std::string cache_dir;    // environments that jobs share
  std::string private_dir;  // for one that refers to `workdir` itself (-e .)
  std::string code_digest;  // what `workdir` was unpacked from
};

// Makes (or finds) the environment for requirements.txt and returns its folder; "" when there is no
// such file. Keyed by the file's content, what it refers to in the work directory, and the
// interpreter, so that a changed line or a changed ./pkg makes a new one and an unchanged file
// costs milliseconds. The interpreter's own packages stay visible: what an image brings is not
// downloaded again. Safe when several nodes of this machine ask at once, and when a builder is
// killed half-way. `env` is the environment that setup gets. Errors: what pip printed last is in
// `sink`.
Result<std::string> PreparePythonEnv(const PythonEnvPlaces& places,
                                     const std::vector<std::pair<std::string, std::string>>& env,
                                     ShellStep& step, LogSink& sink);

// Puts the environment first: PATH, VIRTUAL_ENV; drops PYTHONHOME.
void ActivatePythonEnv(const std::string& venv,
                       std::vector<std::pair<std::string, std::string>>& env);

}  // namespace stoker::node

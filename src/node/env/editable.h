// SPDX-License-Identifier: Apache-2.0
// What a Python environment has installed for editing (pip install -e) out of the folder that the
// job was packed from. Its imports lead into that folder, which goes on changing; those of the job
// lead into its own copy instead.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/status.h"

namespace stoker::node {

struct EditablePlaces {
  std::string live;  // the folder that was packed, as it is on this machine; absolute
  std::string copy;  // the job's work directory
  std::vector<std::pair<std::string, std::string>> env;  // of the program
  std::string venv;                                      // the job's own; "" = none
  std::string command;  // its words, for environments that it names by itself
};

struct EditablePlan {
  std::string live;  // both without links
  std::string copy;
  std::vector<std::string> stay;   // packages, relative to `live`, that are taken from there
  std::vector<std::string> lines;  // for the log; empty: nothing is installed so
  bool any = false;
};

// Looks into the environments that the job may use, which are those of the python3 and python of
// its PATH, of VIRTUAL_ENV and CONDA_PREFIX, of paths in its command, and of the user. Reads names
// and small files alone, and starts no Python. A package that holds compiled modules which were not
// packed stays what it is. Where `live` is not on this machine there is nothing to do.
EditablePlan PlanEditable(const EditablePlaces& places);

// Writes `folder`/sitecustomize.py (folder made), which carries the plan out in each Python that
// finds it by PYTHONPATH, children included, and then runs the environment's own sitecustomize.
Status WriteEditableGuard(const EditablePlan& plan, const std::string& folder);

// Puts `folder` first in PYTHONPATH; nothing with "".
void ActivateEditableGuard(const std::string& folder,
                           std::vector<std::pair<std::string, std::string>>& env);

}  // namespace stoker::node

// SPDX-License-Identifier: Apache-2.0
// What a project's own files say that it needs, for folders without a requirements.txt: as the text
// of one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "node/env/env_maker.h"
#include "node/env/project/lock_text.h"

namespace stoker::node {

// The way out for a job that ran before its project's files counted; behind what else is to be
// done.
inline constexpr char kWithWhatIsThere[] =
    ". A requirements.txt with a comment alone ('# none') has the job run with what is there";

struct ProjectAsk {
  std::string file;    // of ChooseProject, not requirements.txt
  std::string asked;   // of AskPython
  std::string tools;   // folder for uv
  std::string to;      // folder for the text, made anew
  bool setup = false;  // the job has one, which may install what it needs
};

// Writes what is needed as a file of requirements and returns its path; nullopt: nothing is.
// kInvalid, with what to do: it cannot be known here, or is of another Python.
Result<std::optional<std::string>> WriteProjectNeeds(const EnvMaker& by, const ProjectAsk& ask);

}  // namespace stoker::node

// SPDX-License-Identifier: Apache-2.0
// What a project's own files say that it needs, for folders without a requirements.txt: as the text
// of one.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "node/env/env_maker.h"

namespace stoker::node {

// The way out for a job that ran before its project's files counted; behind what else is to be
// done.
inline constexpr char kWithWhatIsThere[] =
    ". A requirements.txt with a comment alone ('# none') has the job run with what is there";

// Which file counts, and what is said of the others. Pure; `files`: names in the work directory.
struct ProjectChoice {
  std::string file;    // "requirements.txt", "uv.lock", …; "" = none
  std::string unused;  // a sentence about those that are not used; "" = nothing to say
};
ProjectChoice ChooseProject(const std::set<std::string>& files, bool activated);

// Whether `version` ("3.11.2") is one that `wanted` (">=3.10,<3.13", "==3.11.*") allows. Parts that
// are of no known form allow all. Pure.
bool PythonAllowed(std::string_view version, std::string_view wanted);
// The same for the text of a .python-version, of which the first two numbers count.
bool PythonIsThat(std::string_view version, std::string_view wanted);

struct ProjectAsk {
  std::string file;   // of ChooseProject, not requirements.txt
  std::string asked;  // of AskPython
  std::string tools;  // folder for uv
  std::string to;     // folder for the text, made anew
};
// What of an export of uv.lock has no hash there: what lies in the folder, or comes from git.
// Names, or what they are asked for by. Pure.
std::vector<std::string> WithoutHash(const std::string& exported);
// The same export without any. Pure.
std::string DropHashes(const std::string& exported);

// Writes what is needed as a file of requirements and returns its path; nullopt: nothing is.
// kInvalid, with what to do: it cannot be known here, or is of another Python.
Result<std::optional<std::string>> WriteProjectNeeds(const EnvMaker& by, const ProjectAsk& ask);

}  // namespace stoker::node

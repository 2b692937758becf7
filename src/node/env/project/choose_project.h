// SPDX-License-Identifier: Apache-2.0
// Which of a project's files counts, and whether a Python is the project's.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace stoker::node {

// Which file counts, and what is said of the others. Pure; `files`: names in the work directory.
struct ProjectChoice {
  std::string file;    // "requirements.txt", "uv.lock", …; "" = none
  std::string unused;  // a sentence about those that are not used; "" = nothing to say
};
// `commands`: the job's setup and program. Where they bring the project's packages by its own tool
// (own_tool.h), its locks and pyproject.toml are left to that.
ProjectChoice ChooseProject(const std::set<std::string>& files, bool activated,
                            const std::string& commands = "");

// Which of `needs` (lines, as of [project]) have a source of their own by name in `sources`
// ([tool.uv.sources]): an index would give another package under that name. Pure.
std::vector<std::string> NeedsWithSource(const std::string& needs,
                                         const std::vector<std::string>& sources);

// Whether `version` ("3.11.2") is one that `wanted` (">=3.10,<3.13", "==3.11.*") allows. Parts that
// are of no known form allow all. Pure.
bool PythonAllowed(std::string_view version, std::string_view wanted);
// The same for the text of a .python-version, of which the first two numbers count.
bool PythonIsThat(std::string_view version, std::string_view wanted);

}  // namespace stoker::node

// SPDX-License-Identifier: Apache-2.0
// Jobs that bring their packages by their project's own tool.
#pragma once

#include <string>

namespace stoker::node {

// The first command in `commands` (shell text, or words with blanks between them) by which such a
// tool installs a project or runs in it: "uv run", "poetry install"; "" = there is none. Text in
// quotes counts, as of bash -c. Pure.
std::string OwnTool(const std::string& commands);

}  // namespace stoker::node

// SPDX-License-Identifier: Apache-2.0
// Why pip or uv failed, in the words of the package that it could not build. Pure.
#pragma once

#include <string>
#include <string_view>

namespace stoker::node {

// Of what a package printed while pip or uv built it: where pip was, compilers' errors, the last
// exception and what it says. "" when `output` tells of no such failure. One line, at most 600
// bytes.
std::string PackageErrors(std::string_view output);

// PackageErrors, or where there are none pip's or uv's own: from the first "ERROR" or "error:" on,
// else the last three lines. One line, at most 600 bytes.
std::string WhyPipFailed(std::string_view output);

// What to do when a build failed because it looked for a git repository, which a job's folder is
// not; "" when that is not why.
std::string GitAdvice(std::string_view output);

}  // namespace stoker::node

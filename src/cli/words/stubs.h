// SPDX-License-Identifier: Apache-2.0
// Texts cut to a width, each still told from the others.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace stoker::cli {

// Each text in at most `width` columns of a terminal (8 at least), in the order given: what is
// longer loses its middle ("trai…loss"), or, where that would leave equal stubs, all up to where
// they differ ("trai…lr 0.1"). Texts that differ have stubs that differ; equal texts have the same.
// Texts are Printable already, without colours.
std::vector<std::string> Stubs(const std::vector<std::string>& texts, size_t width);

}  // namespace stoker::cli

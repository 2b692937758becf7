// SPDX-License-Identifier: Apache-2.0
// What runs in a container and as whom: the user that a job asks for, the entry point that its
// program is begun through. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "container/engine_argv.h"

namespace stoker {

// "1000", "1000:100", "root", "trainer:staff".
bool IsContainerUser(std::string_view text);

// Whether a program of `plan.spec.user` can be looked after: it is seen and signalled from outside,
// by the user whose agent that is. kInvalid: it cannot, with what to write.
Status CheckUser(const EngineFacts& engine, const ContainerPlan& plan);
// As `run` takes it; files are the submitter's where the job names no user. CheckUser has passed.
std::vector<std::string> UserWords(const EngineFacts& engine, const ContainerPlan& plan);

// The submitter's other groups, as `run` takes them: what only they may read is read inside, too.
std::vector<std::string> GroupWords(const EngineFacts& engine, const ContainerPlan& plan);

// Prints the entry point of an image that is on the machine, as ReadEntrypoint takes it.
std::vector<std::string> EntrypointArgv(const EngineFacts& engine, const std::string& image);
// Its words, none where the image has none. kInvalid: it begins no program that is given to it.
Result<std::vector<std::string>> ReadEntrypoint(std::string_view text);

}  // namespace stoker

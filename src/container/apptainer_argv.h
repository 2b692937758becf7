// SPDX-License-Identifier: Apache-2.0
// What apptainer is told. It has no daemon, keeps no books, and stays in the foreground: its
// container ends with its first process. Pure. Source: its user guide, "apptainer exec".
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "container/engine_argv.h"

namespace stoker {

// kInvalid: what it cannot hold of the job's container, and what to write.
Status CheckForApptainer(const ContainerSpec& spec);

// Runs as long as the container does.
std::vector<std::string> ApptainerExec(const EngineFacts& engine, const ContainerPlan& plan);
// The folder of a plan in which what the container writes beside its mounts lies; to be made, with
// kOverlay and kTemporary in it, empty.
std::string ApptainerScratch(const ContainerPlan& plan);
inline constexpr char kOverlay[] = "overlay";
inline constexpr char kTemporary[] = "tmp";

// As InspectArgv and PullArgv of the others: an image is a file in EngineFacts::folder.
std::vector<std::string> ApptainerInspect(const EngineFacts& engine, const std::string& image);
std::vector<std::string> ApptainerPull(const EngineFacts& engine, const std::string& image);

// The file of `image`; what it is called by lies beside it, and is written last.
inline constexpr char kSif[] = ".sif";
inline constexpr char kSifId[] = ".id";
std::string ApptainerFile(const EngineFacts& engine, const std::string& image);

}  // namespace stoker

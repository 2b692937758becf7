// SPDX-License-Identifier: Apache-2.0
// `any_of` and `ordered`: several ways to have the machines of a job, of which it has one at a
// time. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "spec/job_spec.h"
#include "spec/parse.h"
#include "spec/text/spec_reader.h"

namespace stoker {

inline constexpr size_t kMostChoices = 16;

// The job as each of its choices has it: as if that one alone had been written. Of a job without
// choices it is the job itself.
std::vector<JobSpec> ChoicesOf(const JobSpec& spec);

// Machines of `provider`, as spec/text/infra.h calls it, are among those that will do.
bool AnyChoiceIs(const JobSpec& spec, std::string_view provider);

// For one place: the choices that lie in `infra`, or in which it lies, stay, and are at it. Where
// there are none, what was written beside them counts there. `infra` is as CheckInfra gives it.
void NarrowChoices(const std::string& infra, JobSpec* spec);

// ---- inside spec/ only ----

// The maps of `list`, whose key is `key`, once all else of `resources` has been read: what one
// leaves out is as it stands there.
void ReadChoices(const YamlNode& list, const std::string& key, SpecReader* reader, JobSpec* spec);
// The map `resources` has one that is a cloud's, so that what only those have may stand beside it.
bool HasCloudChoice(const YamlNode& resources);
// SkyPilot's other form, `accelerators` with several kinds: {L4: 1, A10G: 1} or [L4:1, A10G:1].
bool AreKinds(const YamlNode& accelerators);
// The same as the list of a key: of 'any_of' for a map, of 'ordered' for a list.
YamlNode ChoicesOfKinds(const YamlNode& accelerators);
// What flags said of spec->resources holds for each of them.
void OverrideChoices(const SpecOverrides& flags, JobSpec* spec);
// The lines of `resources` that hold them; "" where there are none.
std::string PrintChoices(const JobSpec& spec);

}  // namespace stoker

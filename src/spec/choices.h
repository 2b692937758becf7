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

// For one place: the choices that lie in `infra`, or in which it lies, stay, and are at it. Where
// there are none, what was written beside them counts there. `infra` is as CheckInfra gives it.
void NarrowChoices(const std::string& infra, JobSpec* spec);

// ---- inside spec/ only ----

// What `resources` says of choices, found in its map: at most one list.
struct ChoiceList {
  std::string key;  // "any_of", "ordered"; "" = there is none
  YamlNode list;
};
// The keys of such lists, `accelerators` with several kinds among them: {L4: 1, A10G: 1} is
// 'any_of', [L4:1, A10G:1] is 'ordered', as SkyPilot has it. Put before other fields of that name.
std::vector<SpecField> ChoiceFields(ChoiceList* found, SpecReader* reader, JobSpec* spec);
// Once all else of `resources` has been read: what a choice leaves out is as it stands there.
void ReadChoices(const ChoiceList& found, SpecReader* reader, JobSpec* spec);
// The map `resources` has one that is a cloud's, so that what only those have may stand beside it.
bool HasCloudChoice(const YamlNode& resources);
// What flags said of spec->resources holds for each of them.
void OverrideChoices(const SpecOverrides& flags, JobSpec* spec);
// The lines of `resources` that hold them; "" where there are none.
std::string PrintChoices(const JobSpec& spec);

}  // namespace stoker

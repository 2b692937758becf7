// SPDX-License-Identifier: Apache-2.0
// What a job asks of the machine that it runs on: CPUs, memory, GPUs, and its place in the queue.
// Inside spec/ only.
#pragma once

#include <string>
#include <vector>

#include "spec/job_spec.h"
#include "spec/text/spec_reader.h"

namespace stoker {

// "2", "0.5", "4+": at least so many.
void ReadCpus(const YamlNode& node, SpecReader* reader, JobSpec* spec);
// "16GB"; a number alone, "16", "16+", counts GiB, as SkyPilot's does.
void ReadMemory(const YamlNode& node, SpecReader* reader, JobSpec* spec);
// "H100", "H100:2", {H100: 2}; `gpus` also a number, and a list of the machine's GPUs by number.
void ReadGpus(const YamlNode& node, std::string_view what, SpecReader* reader, JobSpec* spec);
void ReadPriority(const YamlNode& node, SpecReader* reader, JobSpec* spec);

// Of `resources`. `here`: what is not understood is for other machines, and ignored.
std::vector<SpecField> MachineFields(bool here, SpecReader* reader, JobSpec* spec);
// The lines of `resources` that hold it.
std::string PrintMachine(const ResourcesSpec& resources);

}  // namespace stoker

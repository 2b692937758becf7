// SPDX-License-Identifier: Apache-2.0
// What a job asks of a machine that a cloud makes for it: its type, its image, its disk.
// Inside spec/ only.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "spec/job_spec.h"
#include "spec/text/spec_reader.h"

namespace stoker {

// "g6.xlarge".
void ReadInstanceType(const YamlNode& node, SpecReader* reader, JobSpec* spec);
// "ami-…", or a parameter of SSM that holds one: "ssm:/aws/service/…"; of Google "PROJECT/NAME", of
// an image or a family, or a path: "projects/P/global/images/family/F".
void ReadImage(const YamlNode& node, SpecReader* reader, JobSpec* spec);
// SkyPilot's "docker:IMAGE" under image_id: `container` of the job, wherever it runs.
bool IsContainerImage(const YamlNode& node);
void ReadDockerImage(const YamlNode& node, SpecReader* reader, JobSpec* spec);
// "200", "200GB": SkyPilot's counts GiB, too.
void ReadDiskSize(const YamlNode& node, SpecReader* reader, JobSpec* spec);

// Of `resources`, where the machine is a cloud's.
std::vector<SpecField> CloudMachineFields(SpecReader* reader, JobSpec* spec);
// The lines of `resources` that hold it.
std::string PrintCloudMachine(const ResourcesSpec& resources);

}  // namespace stoker

// SPDX-License-Identifier: Apache-2.0
// The sections of the job file, one function each: checked values go to the spec, mistakes to the
// reader. Shared by the file and the flags. Inside spec/ only.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "spec/job_spec.h"
#include "spec/program.h"
#include "spec/text/spec_reader.h"

namespace stoker {

inline constexpr int kMaxNodes = 1024;
// Linux refuses to execute with one argument or variable of 128 KiB (MAX_ARG_STRLEN).
inline constexpr size_t kMaxArgumentBytes = (128 << 10) - 1;
inline constexpr size_t kMaxEnvs = 2000;
inline constexpr size_t kMaxHyperparameters = 2000;
inline constexpr size_t kMaxOutputs = 200;
inline constexpr size_t kMaxInputs = 100;
inline constexpr size_t kMaxIncludes = 200;
inline constexpr size_t kMaxStopRules = 50;
inline constexpr size_t kMaxScriptBytes = 100 << 10;

// `here`: the command line says that the job runs on this machine, so that what says which other
// machines is ignored, and remembered by `reader`.
// `flag`: what --infra says; "" = nothing.
void ReadResources(const YamlNode& node, const std::string& flag, SpecReader* reader,
                   JobSpec* spec);
void ReadContainer(const YamlNode& node, Judge judge, SpecReader* reader, JobSpec* spec);
// An image alone.
void ReadContainerImage(const YamlNode& node, std::string_view what, SpecReader* reader,
                        JobSpec* spec);
// "" = none.
std::string PrintContainer(const JobSpec& spec);
void ReadInfra(const YamlNode& node, std::string_view what, SpecReader* reader, JobSpec* spec);
void ReadJobRecovery(const YamlNode& node, SpecReader* reader, JobSpec* spec);
void ReadCheckpoints(const YamlNode& node, SpecReader* reader, JobSpec* spec);
void ReadCheckpointPath(const YamlNode& node, std::string_view what, SpecReader* reader,
                        JobSpec* spec);
void ReadHooks(const YamlNode& node, Judge judge, SpecReader* reader, JobSpec* spec);
void ReadNotify(const YamlNode& node, Judge judge, SpecReader* reader, JobSpec* spec);
// Addresses of entries that came from the settings are secrets of the job, too.
void AddNotifySecrets(JobSpec* spec);
// One entry, as it is read.
std::string NotifyText(const NotifySpec& one);
void ReadLogs(const YamlNode& node, SpecReader* reader, JobSpec* spec);
void ReadLimits(const YamlNode& node, SpecReader* reader, JobSpec* spec);
void ReadConfig(const YamlNode& node, bool here, SpecReader* reader, JobSpec* spec);
// Of checkpoints.path and outputs: as it is written, less "./" and a last '/'. nullopt = an error
// was added.
std::optional<std::string> ReadPath(const YamlNode& node, std::string_view what, bool absolute,
                                    SpecReader* reader);
void ReadMetrics(const YamlNode& node, SpecReader* reader, JobSpec* spec);
void ReadTensorboard(const YamlNode& node, SpecReader* reader, JobSpec* spec);
void ReadWandb(const YamlNode& node, SpecReader* reader, JobSpec* spec);
// The rule of `node`, to be said alone with `warn`, is added.
void AddStopRule(const YamlNode& node, bool warn, SpecReader* reader, JobSpec* spec);
void ReadStopWhen(const YamlNode& node, SpecReader* reader, JobSpec* spec);
void ReadOutputs(const YamlNode& node, SpecReader* reader, JobSpec* spec);
void AddOutput(const YamlNode& node, std::string_view what, SpecReader* reader, JobSpec* spec);
// What is packed though an ignore file names it: one pattern, or a list of them.
void ReadInclude(const YamlNode& node, SpecReader* reader, JobSpec* spec);
void AddInclude(const YamlNode& node, SpecReader* reader, JobSpec* spec);
void ReadShellEnv(const YamlNode& node, SpecReader* reader, JobSpec* spec);
std::optional<RecoveryMode> ReadRecovery(const YamlNode& node, std::string_view what,
                                         SpecReader* reader);

std::optional<int> ReadNumNodes(const YamlNode& node, std::string_view what, SpecReader* reader);
std::optional<int> ReadKeep(const YamlNode& node, std::string_view what, SpecReader* reader);
std::optional<int> ReadRestarts(const YamlNode& node, std::string_view what, SpecReader* reader);
std::optional<std::string> ReadEnding(const YamlNode& node, std::string_view what,
                                      SpecReader* reader);
// A limit: more than nothing, at most a hundred years less a day.
std::optional<Duration> ReadLimit(const YamlNode& node, std::string_view what, SpecReader* reader);
// Of what nobody declared, the most that is kept; 0 = nothing.
std::optional<int64_t> ReadKeptSize(const YamlNode& node, std::string_view what,
                                    SpecReader* reader);
std::optional<int64_t> ReadKeptFiles(const YamlNode& node, std::string_view what,
                                     SpecReader* reader);
std::optional<Duration> ReadKeepFailed(const YamlNode& node, SpecReader* reader);
std::optional<Duration> ReadGrace(const YamlNode& node, std::string_view what, SpecReader* reader);

}  // namespace stoker

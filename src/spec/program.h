// SPDX-License-Identifier: Apache-2.0
// What the job runs and what it gives it: envs, hyperparameters, setup, run, command.
// Inside spec/ only.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "spec/job_spec.h"
#include "spec/text/spec_reader.h"

namespace stoker {

// How strictly a text is judged: a stored one was judged when it was submitted.
enum class Judge { kSubmitted, kStored };

// Variables without a value ("NAME:") are put into `unset`; a flag must give them.
void ReadEnvs(const YamlNode& node, Judge judge, SpecReader* reader, JobSpec* spec,
              std::map<std::string, YamlNode>* unset);
// One variable, from the file or from a flag; replaces an earlier value.
void SetEnv(const YamlNode& key, const std::string& value, const YamlNode& at, Judge judge,
            SpecReader* reader, JobSpec* spec);
// Names whose values are taken from the submitter, and never stand in the file.
void ReadSecrets(const YamlNode& node, Judge judge, SpecReader* reader, JobSpec* spec);
// `from`: as SecretSpec's; the last one of a name counts.
void SetSecret(const YamlNode& key, const std::string& from, Judge judge, SpecReader* reader,
               JobSpec* spec);
void ReadHyperparameters(const YamlNode& node, Judge judge, SpecReader* reader, JobSpec* spec);
void SetHyperparameter(const YamlNode& key, const YamlNode& value, Judge judge, SpecReader* reader,
                       JobSpec* spec);
// `setup` or `run`. nullopt = an error was added.
std::optional<std::string> ReadScript(const YamlNode& node, std::string_view what, Judge judge,
                                      SpecReader* reader);
// A script of which nothing would run: blank lines and comments.
bool IsBlankScript(std::string_view script);
void ReadCommand(const YamlNode& node, Judge judge, SpecReader* reader, JobSpec* spec);
// Arguments from the file or the command line.
void SetCommand(const std::vector<std::string>& argv, const YamlNode& at, Judge judge,
                SpecReader* reader, JobSpec* spec);

}  // namespace stoker

// SPDX-License-Identifier: Apache-2.0
// What parsing a job file carries from step to step. Inside spec/ only.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "spec/parse.h"
#include "spec/program.h"
#include "spec/text/spec_reader.h"

namespace stoker {

struct ParseState {
  ParseState(const ParseOptions& o, Judge j) : options(o), judge(j), reader(o.file_name) {}
  const ParseOptions& options;
  Judge judge;
  SpecReader reader;
  JobSpec spec;
  std::map<std::string, YamlNode> places;  // top-level key to where its value stood
  std::map<std::string, YamlNode> unset;   // envs that a flag must give
  std::vector<std::string> notes;          // see ParsedSpec
  bool has_command = false;                // `command` or `run` was there, right or wrong
  // The value's place, or the beginning of the file.
  YamlNode PlaceOf(const std::string& key) const;
};

// The defaults of the user's settings.
void ApplyDefaults(ParseState* state);
// The whole tree of a job file.
void ReadJobFile(const YamlNode& root, ParseState* state);
// Flags win over the file.
void ApplyOverrides(ParseState* state);
// no_code.cc: a job file without 'workdir' that runs what lies beside it.
void CheckCodeGoesAlong(ParseState* state);
// secret_names.cc: a name that is a variable too.
void FinishSecrets(ParseState* state);
// What can be judged only when all is read: name, workdir, something to run, paths in each other.
void FinishSpec(ParseState* state);

// "~/…" and what is relative to the job file, as one absolute path without "." and double slashes;
// nullopt = an error was added. `what` is the key's full name; `path` stands in `node`.
std::optional<std::string> ResolvePath(const YamlNode& node, std::string_view what,
                                       const std::string& path, SpecReader* reader,
                                       const ParseOptions& options);
// inputs.cc: the channels.
void ReadInputs(const YamlNode& node, SpecReader* reader, ParseState* state);
// One channel, of the file or of a flag; replaces one of that name.
void SetInput(const YamlNode& key, const YamlNode& value, SpecReader* reader, ParseState* state);
// Sets spec.workdir from text in `node`, or adds an error.
void ReadWorkdir(const YamlNode& node, SpecReader* reader, ParseState* state);

}  // namespace stoker

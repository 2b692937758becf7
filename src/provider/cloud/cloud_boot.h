// SPDX-License-Identifier: Apache-2.0
// What a cloud's machine does at its start, as a script: its files, its units, its lease. Inside
// provider/ only. Pure.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/status.h"

namespace stoker::cloud {

struct BootParts {
  std::string env;     // lines of SetVariable, for all scripts: LIMIT, DIGEST, PERIOD, BASE, …
  std::string run;     // the cloud's part of what fetches the binary, see cloud/cloud_scripts.h
  std::string launch;  // EncodeLaunch, and the name of its file in kNodeDir
  std::string launch_file;
  std::vector<std::pair<std::string, std::string>> more;  // other files: paths and texts
};

// For a shell, at each boot: writes the files, arms the lease at the first one, starts the units.
std::string BootScript(const BootParts& parts);

// A line of a file of variables for a shell.
std::string SetVariable(const char* name, const std::string& value);
// kInvalid: one of `texts` is more than a line of text, and all of them end in a script.
Status CheckLines(const std::vector<std::string>& texts);

struct Bucket {
  std::string name;
  std::string prefix;  // "" or "a/b/"
};
// Of a URL with `scheme`, as "gs://". kInvalid: `machines` ("machines of EC2") cannot reach it.
Result<Bucket> BucketOf(const std::string& url, const std::string& scheme,
                        const std::string& machines);

// Where the copies of the binary lie in a bucket of Google's, as a URL that a digest is put behind.
// `endpoint`: of what stands in for Google; "" = Google's own.
std::string GoogleBlobBase(const Bucket& bucket, const std::string& endpoint);

}  // namespace stoker::cloud

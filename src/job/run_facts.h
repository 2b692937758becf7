// SPDX-License-Identifier: Apache-2.0
// What a node's program ran with in an attempt: Python and its packages, the machine, the variables
// it got. Durable: docs/ledger.md says where. What is decoded comes from a store and is untrusted.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace stoker {

inline constexpr size_t kMostPackages = 5000;
inline constexpr size_t kMostToldVariables = 2000;
inline constexpr size_t kMostToldBytes = 4096;  // of one value

struct Package {
  std::string name;  // as PyPI normalizes it: "ruamel-yaml"
  std::string version;
  std::string from;  // "editable", "git 1a2b3c4d5e6f", or "" = an index or a file
  bool operator==(const Package&) const = default;
};

// A variable of the program: its name always, its value only where that may be told.
struct ToldVariable {
  std::string name;
  std::optional<std::string> value;
  std::string by;       // who set it: "stoker", "job", "shell", "setup" or "secret"
  bool hidden = false;  // its value would be told, but looks like a secret or holds one
  bool operator==(const ToldVariable&) const = default;
};

// Whatever is not known is empty. Of a program in a container, what it would tell of the machine's
// own system and Python is left out.
struct RunFacts {
  int format = 1;
  int attempt = 0;
  int rank = 0;
  std::string image;     // the container's; "" = the program ran on the machine itself
  std::string image_id;  // as its engine tells it, in hexadecimal digits
  std::string stoker;    // its version
  std::string kernel;
  std::string os;
  std::string architecture;  // "x86_64"
  std::string cpu;
  int cpus = 0;
  std::string nvidia_driver;
  std::string cuda;             // the newest that the driver serves
  std::string python;           // as the program names it
  std::string python_version;   // "3.11.2"
  bool python_assumed = false;  // the program had ended before it was seen: by its PATH alone
  std::string python_trouble;   // it did not answer
  std::string environment;      // the folder of the job's Python environment
  std::string environment_key;
  std::string packages;  // digest of the list, which lies beside it
  int package_count = 0;
  std::vector<ToldVariable> variables;  // by name
  int variables_left_out = 0;
  std::string extra;  // members of newer versions
  bool operator==(const RunFacts&) const = default;
};

std::string EncodeRunFacts(const RunFacts& facts);
Result<RunFacts> DecodeRunFacts(const std::string& key, std::string_view text);
// The same packages give the same text, which is named by its digest.
std::string EncodePackages(const std::vector<Package>& packages);
Result<std::vector<Package>> DecodePackages(const std::string& key, std::string_view text);

}  // namespace stoker

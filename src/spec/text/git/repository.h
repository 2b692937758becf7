// SPDX-License-Identifier: Apache-2.0
// A git repository as `workdir`. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace stoker {

struct Repository {
  std::string url;  // "https://host/path.git", "git@host:path"; without any password
  std::string ref;  // a branch, a tag or a commit; "" = what its owner has as HEAD
  bool operator==(const Repository&) const = default;
};

// One word for both, which no folder has as its absolute path: "https://host/path.git#ref". It
// stands in JobSpec::workdir.
std::string WordOf(const Repository& repository);
// nullopt: it is a path, as far as its form goes.
std::optional<Repository> RepositoryOf(std::string_view workdir);

// kInvalid, with what to do: nothing that git should be given, or that may be kept in a record.
Status CheckRepository(const Repository& repository);

}  // namespace stoker

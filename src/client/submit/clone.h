// SPDX-License-Identifier: Apache-2.0
// A git repository as work directory: cloned here, by the user's own git with its keys and helpers,
// so that nodes need none of them.
#pragma once

#include <string>

#include "base/status.h"
#include "client/open/client.h"
#include "spec/text/git/repository.h"
#include "sys/file.h"

namespace stoker::client {

struct Clone {
  sys::TempDir place;  // holds it; removed with this
  std::string folder;  // the work tree
};

// That commit alone where the other side gives it, submodules included. kUsage: git, or who it
// asked, says no, in its own words.
Result<Clone> CloneRepository(Client& client, const Repository& repository);

}  // namespace stoker::client

// SPDX-License-Identifier: Apache-2.0
// Logins given to git, pip and uv beside the addresses (login.h).
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "node/env/login/login.h"

namespace stoker::node {

// pip's variables that hold addresses of indexes.
inline constexpr std::string_view kIndexVariables[] = {"PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL"};

// A file of mode 0600, removed with this. One that a killed process left is written over.
class NetrcFile {
 public:
  NetrcFile() = default;
  ~NetrcFile();
  NetrcFile(const NetrcFile&) = delete;
  NetrcFile& operator=(const NetrcFile&) = delete;
  // What the user's own has (of $NETRC, or in $HOME), and `more`.
  Status Write(const std::string& path, const std::vector<std::pair<std::string, std::string>>& env,
               const std::string& more);

 private:
  std::string path_;
};

// ${NAME} as pip reads it: the value in `env`, which must outlive it, unless it is empty.
VariableSource VariablesOf(const std::vector<std::pair<std::string, std::string>>& env);

// Adds to `env` what git needs for `logins`, and where there are such of indexes, a netrc at
// `path`.
Status GiveBeside(const std::vector<AddressLogin>& logins, const std::string& path,
                  std::vector<std::pair<std::string, std::string>>* env, NetrcFile* netrc);

}  // namespace stoker::node

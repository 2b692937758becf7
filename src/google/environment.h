// SPDX-License-Identifier: Apache-2.0
// The outside world as google/ needs it; all of it is handed in, so that tests can make one up.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "base/time.h"
#include "net/http_send.h"

namespace stoker {

using GoogleVariables = std::vector<std::pair<std::string, std::string>>;

struct GoogleProcessOutput {
  int exit_code = 0;
  std::string out;
};

// Every member is set, and may be called from several threads at once.
struct GoogleEnvironment {
  // The value of an environment variable; an empty one counts as unset.
  std::function<std::optional<std::string>(const std::string& name)> variable;
  // A whole file. kNotFound: it is not there.
  std::function<Result<std::string>(const std::string& path)> read_file;
  std::function<WallTime()> now;
  // For the metadata server too, which does not exist on most machines: a connection that is not
  // made within a second or two should be given up.
  HttpSend http;
  // Whether somebody takes connections at such a base URL, asked of metadata services alone: what
  // does not is taken for not there, and what fails in another way for out of order.
  std::function<bool(const std::string& base_url)> listens;
  // Runs a program (argv[0] is looked up in PATH) with this process's environment and `more`, for
  // at most `within`: then kTimeout. A program that ran and failed is a result with its exit code.
  std::function<Result<GoogleProcessOutput>(const std::vector<std::string>& argv,
                                            const GoogleVariables& more, Duration within)>
      run;
  std::string home;  // what "~" is
};

// This machine's: its variables, files, home and clock. Nothing may change the process's
// environment while it is in use.
GoogleEnvironment SystemGoogleEnvironment(HttpSend http);

}  // namespace stoker

// SPDX-License-Identifier: Apache-2.0
// The outside world as aws/ needs it; all of it is handed in, so that tests can make one up.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/time.h"
#include "net/http_send.h"

namespace stoker {

struct AwsProcessOutput {
  int exit_code = 0;
  std::string out;
  std::string err;
};

// Every member is set, and may be called from several threads at once.
struct AwsEnvironment {
  // The value of an environment variable; an empty one counts as unset.
  std::function<std::optional<std::string>(const std::string& name)> variable;
  // A whole file. kNotFound: it is not there.
  std::function<Result<std::string>(const std::string& path)> read_file;
  // Replaces a whole file, or makes it, for this user's eyes alone: others see the old or the new.
  std::function<Status(const std::string& path, const std::string& text)> write_private;
  std::function<WallTime()> now;
  // For the metadata services too, which do not exist on most machines: a connection that is not
  // made within a second or two should be given up.
  HttpSend http;
  // Whether somebody takes connections at such a base URL, asked of metadata services alone: what
  // does not is taken for not there, and what fails in another way for out of order.
  std::function<bool(const std::string& base_url)> listens;
  // Runs a program (argv[0] is looked up in PATH) with this process's environment, for at most a
  // minute. A program that ran and failed is a result with its exit code.
  std::function<Result<AwsProcessOutput>(const std::vector<std::string>& argv)> run;
  std::string home;  // what "~" is
};

}  // namespace stoker

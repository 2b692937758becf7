// SPDX-License-Identifier: Apache-2.0
// The page's server: the page's files, the facts of jobs as JSON, downloads, and a stream of what
// is new. On 127.0.0.1 alone; gate.h says who may ask.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/status.h"
#include "page/job_reader.h"

namespace stoker::page {

struct PageConfig {
  int port = 0;  // 0 = a free one
  std::string version;
  std::string user;
  // See GateSecrets::spend_later; on the threads of connections. Gets the port, too.
  std::function<bool(int port, const std::string& token)> spend_later;
};

class PageServer {
 public:
  // `jobs` must outlive it. kExists when the port is taken.
  static Result<std::unique_ptr<PageServer>> Start(PageConfig config, JobReader& jobs);
  // Returns when all that was asked for has ended.
  virtual ~PageServer() = default;
  virtual int port() const = 0;
  // With the token that opens the page once.
  virtual std::string url() const = 0;
  // So much that was asked for is under way (page/acts.h).
  virtual size_t acting() = 0;
};

}  // namespace stoker::page

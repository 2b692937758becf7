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

// What came of something that was asked for: text for people.
struct Acted {
  bool done = false;
  std::string text;
};

struct PageConfig {
  int port = 0;  // 0 = a free one
  std::string version;
  std::string user;
  // Does what the verb of this name ("cancel", "retry", "preempt") does to a job. Called on the
  // threads of connections.
  std::function<Acted(const std::string& verb, const std::string& job)> act;
  // See GateSecrets::spend_later; on the same threads. Gets the port, too.
  std::function<bool(int port, const std::string& token)> spend_later;
};

class PageServer {
 public:
  // `facts` must outlive it. kExists when the port is taken.
  static Result<std::unique_ptr<PageServer>> Start(PageConfig config, JobReader& jobs);
  virtual ~PageServer() = default;
  virtual int port() const = 0;
  // With the token that opens the page once.
  virtual std::string url() const = 0;
};

}  // namespace stoker::page

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>
#include <set>
#include <string>

#include "net/http_message.h"
#include "port/clock.h"
#include "provider/local/local_boot.h"

namespace stoker {

// What an instance's metadata endpoint answers: the part of EC2's instance metadata (version 2,
// tokens required) that an agent and other people's notice watchers use. Thread-safe.
class LocalMetadata {
 public:
  LocalMetadata(std::string dir, LocalBoot boot, std::string address, Clock& clock);
  HttpResponse Answer(const HttpRequest& request);

 private:
  HttpResponse NewToken(const HttpRequest& request);
  bool Knows(const std::string& token);
  HttpResponse Value(const std::string& path) const;

  const std::string dir_;
  const LocalBoot boot_;
  const std::string address_;
  Clock& clock_;
  std::mutex mutex_;
  std::set<std::pair<MonoTime, std::string>> tokens_;  // by when they end
};

}  // namespace stoker

// SPDX-License-Identifier: Apache-2.0
// A made-up world for tests of credentials: variables, files and servers out of maps.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "base/time.h"
#include "net/http_client.h"

namespace stoker {

struct FakeWorld {
  std::map<std::string, std::string> variables;
  std::map<std::string, std::string> files;
  std::map<std::string, HttpResponse> answers;  // by "METHOD base target"
  std::set<std::string> silent;                 // bases that take connections all the same
  std::vector<std::pair<std::string, HttpRequest>> asked;
  WallTime now = *ParseRfc3339("2026-01-01T00:00:00Z");
  std::mutex mutex;  // of `asked`

  Result<HttpResponse> Send(const std::string& base, const HttpRequest& request) {
    const std::lock_guard lock(mutex);
    asked.emplace_back(base, request);
    const auto at = answers.find(request.method + " " + base + " " + request.target);
    if (at == answers.end()) return Status(Code::kUnavailable, base + ": nobody answers");
    return at->second;
  }

  // What AwsEnvironment and GoogleEnvironment both have.
  template <class Environment>
  Environment Common() {
    Environment out;
    out.home = "/home/u";
    out.now = [this] { return now; };
    out.variable = [this](const std::string& name) {
      const auto at = variables.find(name);
      const bool set = at != variables.end() && !at->second.empty();
      return set ? std::optional(at->second) : std::nullopt;
    };
    out.read_file = [this](const std::string& path) -> Result<std::string> {
      const auto at = files.find(path);
      if (at == files.end()) return Status(Code::kNotFound, path + ": not there");
      return at->second;
    };
    out.http = [this](const std::string& base, const HttpRequest& request) {
      return Send(base, request);
    };
    out.listens = [this](const std::string& base) {
      for (const auto& [of, answer] : answers) {
        if (of.find(" " + base + " ") != std::string::npos) return true;
      }
      return silent.count(base) > 0;
    };
    return out;
  }
};

}  // namespace stoker

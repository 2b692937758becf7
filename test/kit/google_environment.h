// SPDX-License-Identifier: Apache-2.0
// A made-up world for the tests of google/: variables, files and servers out of maps.
#pragma once

#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "google/environment.h"

namespace stoker {

struct FakeGoogle {
  std::map<std::string, std::string> variables;
  std::map<std::string, std::string> files;
  std::map<std::string, HttpResponse> answers;  // by "METHOD base target"
  std::set<std::string> silent;                 // bases that take connections all the same
  std::vector<std::pair<std::string, HttpRequest>> asked;
  std::map<std::string, GoogleProcessOutput> programs;     // by argv[0]
  std::vector<std::pair<std::string, std::string>> given;  // variables, to the last of them
  WallTime now = *ParseRfc3339("2026-01-01T00:00:00Z");
  std::mutex mutex;  // of `asked`

  GoogleEnvironment Environment() {
    GoogleEnvironment out;
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
    out.run = [this](const std::vector<std::string>& argv, const GoogleVariables& more,
                     Duration) -> Result<GoogleProcessOutput> {
      given = more;
      const auto at = programs.find(argv[0]);
      if (at == programs.end()) return Status(Code::kNotFound, argv[0] + ": not there");
      return at->second;
    };
    out.listens = [this](const std::string& base) {
      for (const auto& [of, answer] : answers) {
        if (of.find(" " + base + " ") != std::string::npos) return true;
      }
      return silent.count(base) > 0;
    };
    out.http = [this](const std::string& base, const HttpRequest& request) -> Result<HttpResponse> {
      const std::lock_guard lock(mutex);
      asked.emplace_back(base, request);
      const auto at = answers.find(request.method + " " + base + " " + request.target);
      if (at == answers.end()) return Status(Code::kUnavailable, base + ": nobody answers");
      return at->second;
    };
    return out;
  }

  void Login(const std::string& more = "") {
    files["/home/u/.config/gcloud/application_default_credentials.json"] =
        R"({"type":"authorized_user","client_id":"c","client_secret":"hush one",)"
        R"("refresh_token":"hush two")" +
        more + "}";
  }
  void GiveToken(const std::string& token, int seconds) {
    answers["POST https://oauth2.googleapis.com /token"] = {
        200,
        {},
        R"({"access_token":")" + token + R"(","expires_in":)" + std::to_string(seconds) + "}"};
  }
};

}  // namespace stoker

// SPDX-License-Identifier: Apache-2.0
// A made-up world for the tests of aws/: variables, files, servers and programs out of maps.
#pragma once

#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "aws/config.h"
#include "aws/environment.h"
#include "aws/sources.h"

namespace stoker {

struct FakeAws {
  std::map<std::string, std::string> variables;
  std::map<std::string, std::string> files;
  std::map<std::string, HttpResponse> answers;       // by "METHOD base target"
  std::set<std::string> silent;                      // bases that take connections all the same
  std::map<std::string, AwsProcessOutput> programs;  // by ' '-joined words
  std::vector<std::pair<std::string, HttpRequest>> asked;
  WallTime now = *ParseRfc3339("2026-01-01T00:00:00Z");
  std::vector<std::string> tried;
  std::mutex mutex;  // of `asked`

  AwsEnvironment Environment() {
    AwsEnvironment out;
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
    out.write_private = [this](const std::string& path, const std::string& text) {
      files[path] = text;
      return Status::Ok();
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
    out.run = [this](const std::vector<std::string>& argv) -> Result<AwsProcessOutput> {
      std::string line;
      for (const std::string& word : argv) line += (line.empty() ? "" : " ") + word;
      const auto at = programs.find(line);
      if (at == programs.end()) return Status(Code::kNotFound, "no program " + line);
      return at->second;
    };
    return out;
  }

  Result<HttpResponse> Send(const std::string& base, const HttpRequest& request) {
    const std::lock_guard lock(mutex);
    asked.emplace_back(base, request);
    const auto at = answers.find(request.method + " " + base + " " + request.target);
    if (at == answers.end()) return Status(Code::kUnavailable, base + ": nobody answers");
    return at->second;
  }

  // One search, with all its settings read anew.
  AwsFound Search(const std::string& profile = "") {
    tried.clear();
    const AwsEnvironment environment = Environment();
    STOKER_ASSIGN(const AwsConfig config, ReadAwsConfig(environment, profile));
    return FromEverywhere({environment, config, &tried}, !profile.empty());
  }

  // The access key that is found; else "none", or "error: …".
  std::string Key(const std::string& profile = "") {
    const AwsFound found = Search(profile);
    if (!found.ok()) return "error: " + found.status().ToString();
    return *found ? (*found)->access_key : "none";
  }

  std::string Config(const std::string& text) { return files["/home/u/.aws/config"] = text; }
  std::string Keys(const std::string& text) { return files["/home/u/.aws/credentials"] = text; }
};

inline std::string StsAnswer(const std::string& action, const std::string& key,
                             const std::string& expires = "2026-01-01T01:00:00Z") {
  return "<" + action + "Response xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><" + action +
         "Result><Credentials><AccessKeyId>" + key +
         "</AccessKeyId><SecretAccessKey>s&amp;s</SecretAccessKey><SessionToken>t/+=</SessionToken>"
         "<Expiration>" +
         expires + "</Expiration></Credentials></" + action + "Result></" + action + "Response>";
}

inline std::string JsonAnswer(const std::string& key,
                              const std::string& expires = "2026-01-01T06:00:00Z") {
  return R"({"Code":"Success","AccessKeyId":")" + key +
         R"(","SecretAccessKey":"hush","Token":"tok","Expiration":")" + expires + "\"}";
}

}  // namespace stoker

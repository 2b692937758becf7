// SPDX-License-Identifier: Apache-2.0
// A made-up world for the tests of aws/.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "aws/config.h"
#include "aws/environment.h"
#include "aws/sources.h"
#include "test/kit/fake_world.h"

namespace stoker {

struct FakeAws : FakeWorld {
  std::map<std::string, AwsProcessOutput> programs;  // by ' '-joined words
  std::vector<std::string> tried;

  AwsEnvironment Environment() {
    auto out = Common<AwsEnvironment>();
    out.write_private = [this](const std::string& path, const std::string& text) {
      files[path] = text;
      return Status::Ok();
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

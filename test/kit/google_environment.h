// SPDX-License-Identifier: Apache-2.0
// A made-up world for the tests of google/.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "google/environment.h"
#include "test/kit/fake_world.h"

namespace stoker {

struct FakeGoogle : FakeWorld {
  std::map<std::string, GoogleProcessOutput> programs;     // by argv[0]
  std::vector<std::pair<std::string, std::string>> given;  // variables, to the last of them

  GoogleEnvironment Environment() {
    auto out = Common<GoogleEnvironment>();
    out.run = [this](const std::vector<std::string>& argv, const GoogleVariables& more,
                     Duration) -> Result<GoogleProcessOutput> {
      given = more;
      const auto at = programs.find(argv[0]);
      if (at == programs.end()) return Status(Code::kNotFound, argv[0] + ": not there");
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

// SPDX-License-Identifier: Apache-2.0
// The least that a bucket's owner, or a cloud's, must allow for stoker to work, in the service's
// own words: files for its tools, and the commands that use them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace stoker {

inline constexpr char kSubmitterFile[] = "submitter.json";
inline constexpr char kNodeFile[] = "node.json";
// In commands: the folder where the files lie.
inline constexpr char kRightsFolder[] = "FOLDER";

struct RightsFile {
  std::string name;  // "node.json"
  std::string what;  // "machines that run jobs": whom or what it is for
  std::string text;  // JSON: a policy of IAM, a role of Google's
};

struct Rights {
  std::vector<RightsFile> files;
  // What whoever manages the account types, in this order. Words in capital letters are for a
  // person to fill in.
  std::vector<std::string> commands;
  std::string how;  // remarks for people, in lines

  // The text of the file of that name; null where there is none.
  std::string* Find(const std::string& name) {
    for (RightsFile& file : files) {
      if (file.name == name) return &file.text;
    }
    return nullptr;
  }

  // Puts `value` in place of the word of capital letters, wherever commands have it.
  void Fill(std::string_view word, const std::string& value) {
    for (std::string& command : commands) {
      for (size_t at = 0; (at = command.find(word, at)) != std::string::npos; at += value.size()) {
        command.replace(at, word.size(), value);
      }
    }
  }
};

}  // namespace stoker

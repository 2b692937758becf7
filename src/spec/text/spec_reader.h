// SPDX-License-Identifier: Apache-2.0
// Reads typed values out of a YAML tree and collects every mistake. Inside spec/ only.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "spec/text/spec_error.h"
#include "spec/text/yaml_tree.h"

namespace stoker {

// One key that a map may hold and what reads its value. `read` gets a value that is not null,
// unless `null_allowed`.
struct SpecField {
  std::string_view name;
  std::function<void(const YamlNode& value)> read;
  bool null_allowed = false;
};

// Keys that are understood but not built yet: key to what to do instead.
using RefusedKeys = std::map<std::string_view, std::string_view>;

// A setting that a single provider has: one word.
struct PlaceSetting {
  const char* name;      // "aws.instance_profile"
  const char* meaning;   // as SettingKey has it
  const char* built_in;  // what holds when it is not set
  bool (*fits)(std::string_view word);
  const char* write;  // what to do where it does not
};

class SpecReader {
 public:
  explicit SpecReader(std::string file) : file_(std::move(file)) {}

  std::vector<SpecError>& errors() { return errors_; }
  // The full names of the keys that were ignored, in the order written.
  const std::vector<std::string>& ignored() const { return ignored_; }
  const std::string& file() const { return file_; }

  // At the node; offending text is the node's.
  void Error(const YamlNode& at, std::string message, std::string hint = "");

  // Every entry of `node`, in the order written, to its field. Unknown, refused and null ones are
  // errors. `section` is "" at the top, else "limits", …: for messages and for the nearest key.
  void ReadMap(const YamlNode& node, std::string_view section, const std::vector<SpecField>& fields,
               const RefusedKeys& refused);

  // Fields that take any value, or none, and remember that it was ignored.
  std::vector<SpecField> IgnoredFields(std::string_view section,
                                       const std::vector<std::string_view>& names);

  // nullopt = an error was added. `what` is the key's full name, e.g. "limits.stall".
  std::optional<std::string> Text(const YamlNode& node, std::string_view what);
  // One line without control characters, not empty.
  std::optional<std::string> Line(const YamlNode& node, std::string_view what);
  std::optional<int64_t> Integer(const YamlNode& node, std::string_view what, int64_t low,
                                 int64_t high);
  std::optional<bool> Boolean(const YamlNode& node, std::string_view what);
  std::optional<Duration> Length(const YamlNode& node, std::string_view what, Duration low,
                                 Duration high);
  // One of `choices`, in capitals or not; returned as it stands there.
  std::optional<std::string> Choice(const YamlNode& node, std::string_view what,
                                    const std::vector<std::string>& choices);
  // `count` of `what` is at most `most`: bounds the work that a small file can cause.
  bool ExpectAtMost(const YamlNode& node, std::string_view what, size_t count, size_t most);
  bool ExpectMap(const YamlNode& node, std::string_view what);
  bool ExpectList(const YamlNode& node, std::string_view what, std::string_view example);

 private:
  void UnknownKey(const YamlNode& key, std::string_view section,
                  const std::vector<SpecField>& fields, const RefusedKeys& refused);

  std::string file_;
  std::vector<SpecError> errors_;
  std::vector<std::string> ignored_;
};

}  // namespace stoker

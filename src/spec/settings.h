// SPDX-License-Identifier: Apache-2.0
// The user's settings: ~/.config/stoker/config.yaml, and what `stoker config get/set/list` does.
// Pure: the caller reads and writes the file. docs/job-file.md has the keys.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/time.h"
#include "spec/job_spec.h"

namespace stoker {

// What is not set is absent: built-in defaults are applied where the value is used.
struct Settings {
  std::string store;                     // absolute path; "" = the built-in default
  std::optional<std::string> infra;      // resources.infra
  std::optional<RecoveryMode> recovery;  // recovery
  std::optional<int> keep;               // checkpoints.keep
  std::optional<Duration> stop_grace;    // stop_grace
  std::optional<int64_t> kept_size;      // limits.kept_size
  std::optional<int64_t> kept_files;     // limits.kept_files
  std::string me;                        // id of the person; "" = what was made at first use
  std::string color;                     // "auto", "always", "never"; "" = not set
  std::vector<NotifySpec> notify;        // of jobs that do not say whom
  std::string registry;                  // IsRepositoryName; "" = images go through the store
  std::string shell_env;                 // see spec/shell_env.h; "" = not set
  // Those of single providers that are set, by name ("aws.instance_profile"): spec/places/ has
  // them.
  std::map<std::string, std::string, std::less<>> places;
  // pools.NAME: machines that ssh reaches, in the order written.
  std::map<std::string, std::vector<std::string>> pools;
  bool operator==(const Settings&) const = default;
  // Of `places`; "" = not set.
  std::string Of(std::string_view name) const {
    const auto found = places.find(name);
    return found == places.end() ? "" : found->second;
  }
};

struct SettingKey {
  std::string name;      // "checkpoints.keep"
  std::string meaning;   // one line
  std::string built_in;  // what holds when it is not set
};

// Every key but those of pools, in the order that they are printed.
const std::vector<SettingKey>& SettingKeys();
// The same, and those of the pools that `settings` has.
std::vector<SettingKey> SettingKeys(const Settings& settings);

// Parses the file; all mistakes in one kInvalid, each as "config.yaml:3:5: …". An empty text is
// empty settings. `home` (absolute) replaces a leading "~/" in `store`; "" refuses "~".
Result<Settings> ParseSettings(std::string_view text, const std::string& file_name,
                               const std::string& home);

// The text of a file that parses back to `settings`. Comments of an older file are not kept.
std::string PrintSettings(const Settings& settings);

// By dotted name. Get: the value as one would write it, "" when not set. Set: checks the value as
// ParseSettings does. All: kUsage for an unknown name, with the nearest one.
Result<std::string> GetSetting(const Settings& settings, std::string_view name);
Status SetSetting(Settings* settings, std::string_view name, const std::string& value,
                  const std::string& home);
Status UnsetSetting(Settings* settings, std::string_view name);

}  // namespace stoker

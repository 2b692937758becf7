// SPDX-License-Identifier: Apache-2.0
// Variables of this shell that the job's command, file or packed code names: they become `envs`.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "client/open/client.h"
#include "spec/job_spec.h"

namespace stoker::client {

// For people: on one line, and cut where it is long.
std::string ShownValue(const std::string& value);

class NamedHere {
 public:
  // Nothing is taken.
  NamedHere() = default;
  // What this process's environment has that may go along: nothing with spec.whole_shell; not what
  // the spec sets or has as a secret, not what belongs to a place (spec/text/named_variables.h),
  // not what the setting `shell_env` leaves out. kInvalid: that setting is wrong.
  static Result<NamedHere> Of(Client& client, const JobSpec& spec);

  // Notes which of them `text` names.
  void Read(std::string_view text);
  // The same with all texts of the spec that a shell or program reads.
  void Read(const JobSpec& spec);

  // Puts what was named into spec->envs, and takes it out of `shell`; says so, and which were left
  // because they look like secrets. Those that are no text, or longer than 4 kB, stay, said.
  void GiveTo(Client& client, JobSpec* spec,
              std::vector<std::pair<std::string, std::string>>* shell) const;

 private:
  std::map<std::string, std::string, std::less<>> here_;
  std::set<std::string> named_;
};

}  // namespace stoker::client

// SPDX-License-Identifier: Apache-2.0
// What is noticed in the files of a work directory while they are packed, so that each is read
// once.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "client/open/client.h"
#include "client/submit/named_here.h"
#include "spec/job_spec.h"

namespace stoker::client {

class PackedText {
 public:
  // Both must outlive it.
  PackedText(const JobSpec& spec, NamedHere* named);

  // `head`: the first MiB of the file at `path`. The same file may come twice.
  void Look(const std::string& path, std::string_view head);

  // What its owner should know: files that are only pointers of git LFS, scripts that end in a
  // pipe, a folder of checkpoints with the name of a file.
  void Say(Client& client) const;

 private:
  NamedHere* named_;
  std::string program_;                      // the script that the job starts; "" = none
  std::map<std::string, int64_t> pointers_;  // and what they stand for, in bytes
  std::string file_;  // where checkpoints are to lie, and which is hardly a folder's name
  std::map<std::string, std::string> pipes_;  // what ends in a pipe, and how
};

}  // namespace stoker::client

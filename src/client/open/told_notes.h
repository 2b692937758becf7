// SPDX-License-Identifier: Apache-2.0
// Which ended jobs' notes `ls` has shown from this settings folder: each is shown once.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "client/open/client.h"

namespace stoker::client {

class ToldNotes {
 public:
  // Of the jobs of `ledger_id`. What cannot be read counts as not shown.
  ToldNotes(const Client& client, std::string ledger_id);
  bool Has(const std::string& job) const;
  void Add(const std::string& job);
  // Keeps what was added; the newest thousand. What cannot be written is shown again.
  void Write() const;

 private:
  std::string LineOf(const std::string& job) const { return ledger_id_ + " " + job; }

  const std::string file_;
  const std::string ledger_id_;
  std::vector<std::string> lines_;  // in the order in which they were shown
  std::set<std::string> known_;
  bool changed_ = false;
};

}  // namespace stoker::client

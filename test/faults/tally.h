// SPDX-License-Identifier: Apache-2.0
// How the transfers of a trial ended.
#pragma once

#include <algorithm>
#include <iostream>
#include <map>
#include <mutex>
#include <string>

#include "base/status.h"

namespace stoker::faults {

// Thread-safe.
class Tally {
 public:
  void Right(const std::string& kind, double seconds) { Count(kind, &Row::right, seconds); }
  // It did not do what it should, and said why.
  void Said(const std::string& kind, const Status& why, double seconds) {
    Count(kind, &Row::said, seconds);
    const std::lock_guard lock(mutex_);
    ++codes_[std::string(CodeName(why.code()))];
    if (why.message().empty()) wrong_.push_back(kind + " failed without a word");
    if (codes_[std::string(CodeName(why.code()))] <= 2) examples_.push_back(why.ToString());
  }
  void Wrong(const std::string& what) {
    const std::lock_guard lock(mutex_);
    wrong_.push_back(what);
  }
  // Prints all of it; false where anything was wrong.
  bool Report() const {
    const std::lock_guard lock(mutex_);
    int right = 0, said = 0;
    for (const auto& [kind, row] : rows_) {
      std::cout << "  " << kind << ": " << row.right << " right, " << row.said << " said why\n";
      right += row.right;
      said += row.said;
    }
    for (const std::string& example : examples_) std::cout << "  for example: " << example << "\n";
    for (const std::string& each : wrong_) std::cout << "WRONG " << each << "\n";
    std::cout << "sum " << right << " " << said << " " << wrong_.size() << " " << longest_ << "\n";
    return wrong_.empty();
  }

 private:
  struct Row {
    int right = 0;
    int said = 0;
  };
  void Count(const std::string& kind, int Row::*member, double seconds) {
    const std::lock_guard lock(mutex_);
    ++(rows_[kind].*member);
    longest_ = std::max(longest_, seconds);
  }

  mutable std::mutex mutex_;
  std::map<std::string, Row> rows_;
  std::map<std::string, int> codes_;
  std::vector<std::string> examples_;
  std::vector<std::string> wrong_;
  double longest_ = 0;
};

}  // namespace stoker::faults
